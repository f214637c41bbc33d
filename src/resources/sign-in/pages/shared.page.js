// What the pages of sign-in have in common. Runs in a person's browser.

/** The path that Weir stands below, such as `/weir`; empty where it has its host for itself. */
export const base = document.documentElement.dataset.base ?? "";

/** The language that the person chose on the page, that of who was last here, or the browser's (web/texts/language.ts). */
const language =
  localStorage.getItem("weir.language") ?? localStorage.getItem("weir.language.last") ?? navigator.language;

/** Texts by their English one. Without those of another language the page stays in English. */
const texts = language.startsWith("de")
  ? await import(`${base}/sign-in/de.js`).then(
      (file) => file.default,
      () => null,
    )
  : null;

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (name, key) => values[key] ?? name);

/** `RegExp.escape` is missing in browsers that are a year or two old, which then couldn't sign in. */
const literal = (text) => text.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&");

/** The server's sentences come with their values filled in. */
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

/** A text in the language of the page, with its values. */
export const t = (english, values = {}) =>
  texts?.[english] === undefined ? filled(sentenceFor(english), values) : filled(texts[english], values);

/** Puts what stands on the page into its language. */
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

/** Where `return_to` leads, as a path of this Weir; anything else leads to the start. */
export function placeToGo() {
  const asked = new URLSearchParams(location.search).get("return_to") ?? "";
  const url = URL.parse(asked, location.origin);
  if (!asked.startsWith("/") || url?.origin !== location.origin) return `${base}/`;
  if (url.pathname.startsWith("//")) return `${base}/`; // by itself a path of two slashes names another host
  const isBelow = `${url.pathname}/`.startsWith(`${base}/`);
  return (isBelow ? "" : base) + url.pathname + url.search + url.hash;
}

export const part = (id) => document.getElementById(id);

/** Sends JSON to Weir. `body` of the answer is null where there is none; `problem` is the lines that tell what went wrong. */
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

/** Says something below the form; `isGood` tells whether it is good news. */
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

/** What a form holds, without the fields that were left empty. */
export const fieldsOf = (form) =>
  Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));

/** Calls `work` instead of sending the form, once at a time. */
export function onSubmit(form, work) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = [...form.querySelectorAll("button")];
    for (const button of buttons) button.disabled = true;
    await work(fieldsOf(form), event.submitter);
    for (const button of buttons) button.disabled = false;
  });
}

/** The person who is signed in; null where nobody is. */
export async function whoIsHere() {
  const { isGood, body } = await ask("GET", "/api/v1/users/me");
  return isGood ? body : null;
}

/** Asks for the second factor beside the password that was right. */
function askForCode(lines) {
  const label = part("second-factor");
  label.hidden = false;
  label.querySelector("input").focus();
  tell(lines, true);
}

/** Shows the form that signs in, and calls `then` once somebody is. `returnTo` is where another provider leads back to. */
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
