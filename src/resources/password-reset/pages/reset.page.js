// Sets a new password with the token of the emailed link. Runs in the browser.
import { ask, onSubmit, part, show, t, tell } from "/sign-in/shared.js";

const token = new URLSearchParams(location.search).get("token") ?? "";

onSubmit(part("reset"), async (fields) => {
  const { isGood, problem } = await ask("POST", "/api/v1/auth/reset", { ...fields, token });
  if (!isGood) return tell(problem);
  show("set");
});

if (token === "") tell([t("Open this page with the link from your email.")]);
