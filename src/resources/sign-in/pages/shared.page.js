// What the sign-in pages have in common. Runs in the browser.

/** The base path of the server, such as `/weir`. Empty if it has none. */
export const base = document.documentElement.dataset.base ?? "";

/** The language chosen on the page, that of the last user here, or the browser's (web/texts/language.ts). */
const language =
  localStorage.getItem("weir.language") ?? localStorage.getItem("weir.language.last") ?? navigator.language;

/** Translations by their English text. Without any, the page stays in English. */
const texts = language.startsWith("de")
  ? await import(`${base}/sign-in/de.js`).then(
      (file) => file.default,
      () => null,
    )
  : null;

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (name, key) => values[key] ?? name);

/** `RegExp.escape` is missing in browsers that are one or two years old, in which users couldn't sign in. */
const literal = (text) => text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");

/** Server messages arrive with their values filled in, so they are matched by patterns. */
const sentences = Object.keys(texts ?? {})
  .filter((english) => english.includes("{"))
  .map((english) => {
    const parts = english.split(/\{(\w+)\}/).map((part, at) => (at % 2 ? `(?<${part}>.+)` : literal(part)));
    return [new RegExp(`^${parts.join("")}$`), texts[english]];
  });

function sentenceFor(english) {
  for (const [pattern, text] of sentences) {
    const found = pattern.exec(english);
    if (found) return filled(text, found.groups);
  }
  return english;
}

/** Translates a text and fills in its values. */
export const t = (english, values = {}) =>
  texts?.[english] === undefined ? filled(sentenceFor(english), values) : filled(texts[english], values);

/** Translates the page. */
function translate() {
  document.documentElement.lang = "de";
  document.title = t(document.title);
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const english = node.data.trim();
    node.data = node.data.replace(english, () => t(english));
  }
}
if (texts) translate();
document.querySelector("main").removeAttribute("data-untranslated");

/** Returns `return_to` as a path of this server, or the home page for any other URL. */
export function placeToGo() {
  const asked = new URLSearchParams(location.search).get("return_to") ?? "";
  const url = URL.parse(asked, location.origin);
  if (!asked.startsWith("/") || url?.origin !== location.origin) return `${base}/`;
  // On its own, a path that begins with two slashes names another host.
  if (url.pathname.startsWith("//")) return `${base}/`;
  const isBelow = `${url.pathname}/`.startsWith(`${base}/`);
  return (isBelow ? "" : base) + url.pathname + url.search + url.hash;
}

export const part = (id) => document.getElementById(id);

/**
 * Sends JSON to the server.
 * In the response, `body` is null if there is none, and `problem` has the lines of the error message.
 */
export async function ask(method, path, body, headers = {}) {
  const reply = await fetch(base + path, {
    method,
    headers: { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => null);
  const answer = (await reply?.json().catch(() => null)) ?? null;
  return {
    isGood: reply?.ok === true,
    status: reply?.status ?? 0,
    body: answer,
    problem: problemOf(reply, answer),
  };
}

function problemOf(reply, answer) {
  if (reply?.ok) return [];
  const detail = answer?.detail ?? "Couldn't reach the server. Check that it is running.";
  return Array.isArray(detail)
    ? detail.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${t(msg)}`)
    : [t(detail)];
}

/** Shows a message below the form, styled as a success if `isGood`. */
export function tell(lines, isGood = false) {
  const told = part("told");
  told.replaceChildren(
    ...lines.map((line) => {
      const item = document.createElement("p");
      item.textContent = line;
      return item;
    }),
  );
  told.className = isGood ? "good" : "bad";
}

/** Shows one part of the page and hides the others. */
export function show(id) {
  for (const each of document.querySelectorAll("[data-step]")) each.hidden = each.id !== id;
  tell([]);
  const step = part(id);
  (step.querySelector("input:not([type=hidden]), select, button, a") ?? step).focus();
}

/** Returns the form's fields, except empty ones. */
export const fieldsOf = (form) =>
  Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

/** Calls `work` instead of submitting the form, one call at a time. */
export function onSubmit(form, work) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = [...form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    await work(fieldsOf(form), event.submitter);
    for (const button of buttons) button.disabled = false;
  });
}

/** Returns the signed-in user. Null if there is none. */
export async function whoIsHere() {
  const { isGood, body } = await ask("GET", "/api/v1/users/me");
  return isGood ? body : null;
}

/** Asks for the second factor, after the password was right. */
function askForCode(lines) {
  const label = part("second-factor");
  label.hidden = false;
  label.querySelector("input").focus();
  tell(lines, true);
}

/**
 * Shows the sign-in form, and calls `then` once a user is signed in.
 * `returnTo` is where an identity provider returns to.
 */
export async function signIn(returnTo, then) {
  const { body: methods, problem } = await ask("GET", "/api/v1/auth/methods");
  show("sign-in");
  if (!methods) return tell(problem);
  if (methods.setupRequired) {
    return tell([t("Weir isn't set up yet. Open the setup link from the server log.")]);
  }
  if (methods.oidc) {
    const link = part("oidc");
    link.textContent = t("Sign in with {name}", { name: methods.oidc.name });
    link.href = `${base}/api/v1/auth/oidc/start?return_to=${encodeURIComponent(returnTo)}`;
    link.hidden = false;
  }
  const form = part("password");
  form.hidden = !methods.password;
  onSubmit(form, async (fields) => {
    const answer = await ask("POST", "/api/v1/auth/login", fields);
    if (answer.body?.code === "second_factor_required") return askForCode(answer.problem);
    if (!answer.isGood) return tell(answer.problem);
    form.reset();
    part("second-factor").hidden = true;
    await then(answer.body);
  });
}
