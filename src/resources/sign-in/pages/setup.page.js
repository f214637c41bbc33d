// Sends the form of the set-up page and says what came of it. Runs in the browser of the first owner.
import { ask, base, onSubmit, part, show, t, tell } from "/sign-in/shared.js";

const form = part("setup");
const token = new URLSearchParams(location.search).get("token") ?? "";

onSubmit(form, async (fields) => {
  const { isGood, problem } = await ask("POST", "/api/v1/auth/setup", { ...fields, token });
  if (!isGood) return tell(problem);
  location.assign(`${base}/`);
});

const { body: methods } = await ask("GET", "/api/v1/auth/methods");
if (methods?.setupRequired === false) show("set-up");
else if (token === "") tell([t("Open this page with the setup link from the server log.")]);
