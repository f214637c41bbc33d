// Shows a user the invitations for their address, and accepts or declines each. Runs in the browser.
import { ask, base, part, placeToGo, show, t, tell } from "/sign-in/shared.js";

part("go-on").href = placeToGo();

const element = (name, text, more = {}) =>
  Object.assign(document.createElement(name), { textContent: text, ...more });

function nameOf({ email, firstName, lastName }) {
  const name = [firstName, lastName].filter(Boolean).join(" ");
  return name ? `${name} (${email})` : email;
}

async function answer(id, verb) {
  const { isGood, status, problem } = await ask("POST", `/api/v1/users/me/invitations/${id}/${verb}`);
  if (isGood || status === 404) await list(); // 404: it was revoked.
  if (!isGood) tell(problem);
}

function row({ id, organization, roleSlug, invitedBy }) {
  const item = document.createElement("li");
  const inviter = invitedBy ? nameOf(invitedBy) : t("An API key");
  const text = element("p", "");
  // The organization's name is where the sentence has its placeholder.
  const [before, after] = t("{inviter} invites you to join {organization} as {role}.", {
    inviter,
    role: t(roleSlug),
  }).split("{organization}");
  text.append(before, element("strong", organization.name), ` (${organization.slug})${after}`);
  const buttons = [
    element("button", t("Accept"), { type: "button", onclick: () => answer(id, "accept") }),
    element("button", t("Decline"), {
      type: "button",
      className: "quiet",
      onclick: () => answer(id, "decline"),
    }),
  ];
  const { name } = organization;
  buttons[0].setAttribute("aria-label", t("Accept invitation to {name}", { name }));
  buttons[1].setAttribute("aria-label", t("Decline invitation to {name}", { name }));
  item.append(text, ...buttons);
  return item;
}

async function list() {
  const { isGood, status, body, problem } = await ask("GET", "/api/v1/users/me/invitations");
  if (status === 401) {
    const here = encodeURIComponent(location.pathname + location.search);
    return location.replace(`${base}/login?return_to=${here}`);
  }
  show("open");
  if (!isGood) return tell(problem);
  part("invitations").replaceChildren(...body.items.map(row));
  part("none").hidden = body.items.length > 0;
}

await list();
