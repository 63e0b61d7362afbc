"""Split head automata: grandchild, grand-sibling and tri-sibling factors, and limits of arity."""
