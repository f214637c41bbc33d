// Submits the form of the setup page and shows the result. Runs in the first owner's browser.
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
