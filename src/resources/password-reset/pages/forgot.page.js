// Requests a link for setting a new password. Runs in the browser.
import { ask, onSubmit, part, show, tell } from "/sign-in/shared.js";

onSubmit(part("forgot"), async (fields) => {
  const { isGood, problem } = await ask("POST", "/api/v1/auth/forgot", fields);
  if (!isGood) return tell(problem);
  show("sent");
});
