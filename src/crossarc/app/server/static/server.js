// Calls of the server. While it does not answer, calls wait and are tried again.

const AGAIN = 1500;

export class RefusedError extends Error {}

/**
 * @param {(isThere: boolean) => void} onReach told whether the server answers
 * @param {AbortSignal} [signal] ends the attempts
 */
export const makeClient = (onReach) => {
  const attempt = async (path, options) => {
    for (;;) {
      let response;
      try {
        response = await fetch(path, options);
      } catch (error) {
        if (options.signal?.aborted) throw error;
        onReach(false);
        await new Promise((resolve) => setTimeout(resolve, AGAIN));
        continue;
      }
      onReach(true);
      if (response.status === 429) {
        await new Promise((resolve) => setTimeout(resolve, AGAIN));
        continue;
      }
      const answer = await response.json();
      if (!response.ok) throw new RefusedError(answer.error);
      return answer;
    }
  };
  return {
    models: () => attempt("models", {}),
    parse: async (request, signal) => {
      const body = JSON.stringify(request);
      return (await attempt("parse", { method: "POST", body, signal })).sentences;
    },
    tokenize: async (data, model) => {
      const body = new URLSearchParams({ data, model, tokenizer: "" });
      return (await attempt("process", { method: "POST", body })).result;
    },
  };
};
