// Asks for a link that sets a new password. Runs in a person's browser.
import { ask, onSubmit, part, show, tell } from "/sign-in/shared.js";

onSubmit(part("forgot"), async (fields) => {
  const { isGood, problem } = await ask("POST", "/api/v1/auth/forgot", fields);
  if (!isGood) return tell(problem);
  show("sent");
});
