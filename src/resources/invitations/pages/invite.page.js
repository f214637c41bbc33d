// Accepts an invitation: as the signed-in user, another existing user or a new one. Runs in the browser.
import { ask, base, onSubmit, part, show, t, tell, whoIsHere } from "/sign-in/shared.js";

const token = new URLSearchParams(location.search).get("token") ?? "";
part("elsewhere").href = `${base}/login?return_to=${encodeURIComponent(location.pathname + location.search)}`;

async function accept(fields) {
  const { isGood, body, problem } = await ask("POST", "/api/v1/auth/invitations/accept", {
    ...fields,
    token,
  });
  if (!isGood) return tell(problem);
  show("joined");
  part("who-joined").textContent = body.email;
}

onSubmit(part("join"), () => accept({}));
onSubmit(part("come-in"), accept);
part("another").addEventListener("click", () => show("come-in"));

const person = token === "" ? null : await whoIsHere();
if (token === "") tell([t("Open this page with your invitation link.")]);
else if (person) {
  part("who").textContent = person.email;
  show("join");
} else show("come-in");
