"""`crossarc demo`: the main job on the sample bank, a minute after installation."""

from __future__ import annotations

__all__ = ["demo"]

_SHOWN = ("nl-001", "de-006", "la-003")


def demo() -> None:
    """Measure and draw the sample bank that comes with crossarc."""
    from crossarc.analysis import Profile, profile
    from crossarc.app.commands.stats import profile_table
    from crossarc.draw import sentence_text
    from crossarc.treebank import sample

    sentences = sample()
    languages = dict.fromkeys(sentence.comment("lang") or "" for sentence in sentences)
    profiles = [(language, profile(sample(language))) for language in languages]
    total = sum((one for _, one in profiles), Profile())
    print("The sample bank, by language:\n")
    print(profile_table([*profiles, ("total", total)]))
    print("\nThree of its trees; heavy arrows are non-projective arcs:\n")
    for sentence in sentences:
        if sentence.sent_id in _SHOWN:
            print(sentence_text(sentence), end="\n\n")
            print(f"  {sentence.comment('note')}\n")
    print("Next: crossarc stats YOUR.conllu ; crossarc draw YOUR.conllu ; crossarc --help")
