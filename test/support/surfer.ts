/** Where a browser ended up, and how. */
export interface Landing {
  status: number;
  url: URL;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read replies of any shape
  body: any;
  /** Each request on the way, such as `303 GET /auth`. */
  trail: string[];
}

interface Trip {
  /** Called with each URL before the browser opens it. It can return another one, or null to stop there. */
  turn?: (url: URL) => URL | null;
  accept?: string;
}

/** A browser, as far as a sign-in needs one: stores cookies, follows redirects, and fills in the provider's forms. */
export function openSurfer(jar = new Map<string, string>()) {
  const hop = async (url: URL, accept: string, form?: Record<string, string>) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const reply = await fetch(url, {
      method: form ? "POST" : "GET",
      redirect: "manual",
      headers: { accept, ...(cookie ? { cookie } : {}) },
      ...(form ? { body: new URLSearchParams(form) } : {}),
    });
    for (const set of reply.headers.getSetCookie()) {
      const [pair = "", ...facts] = set.split(/; ?/);
      const name = pair.slice(0, pair.indexOf("="));
      const expires = facts.find((fact) => /^expires=/i.test(fact))?.slice(8);
      const isOver =
        facts.some((fact) => /^max-age=0$/i.test(fact)) || (expires && Date.parse(expires) < Date.now());
      if (isOver) jar.delete(name);
      else jar.set(name, pair.slice(name.length + 1));
    }
    return reply;
  };

  /** Opens `address` and follows redirects to the end. Fills `login` into forms of the provider. */
  const go = async (address: string, login: string | null = null, trip: Trip = {}): Promise<Landing> => {
    const { turn = (url) => url, accept = "*/*" } = trip;
    const trail: string[] = [];
    let url = new URL(address);
    let form: Record<string, string> | undefined;
    for (let hops = 0; hops < 20; hops++) {
      const turned = turn(url);
      if (turned === null) return { status: 0, url, headers: new Headers(), text: "", body: null, trail };
      url = turned;
      const reply = await hop(url, accept, form);
      trail.push(`${reply.status} ${form ? "POST" : "GET"} ${url.pathname}`);
      const location = reply.headers.get("location");
      const text = await reply.text();
      const action = /<form[^>]+action="([^"]+)"/.exec(text)?.[1];
      form = undefined;
      if (location !== null && reply.status < 400) {
        url = new URL(location, url);
      } else if (action !== undefined && login !== null) {
        const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? "";
        form = prompt === "login" ? { prompt, login, password: "x" } : { prompt };
        url = new URL(action, url);
      } else {
        const isJson = reply.headers.get("content-type")?.includes("json");
        return {
          status: reply.status,
          url,
          headers: reply.headers,
          text,
          body: isJson ? JSON.parse(text) : null,
          trail,
        };
      }
    }
    throw new Error(`It leads nowhere: ${trail.join(", ")}`);
  };
  return { go, jar };
}
