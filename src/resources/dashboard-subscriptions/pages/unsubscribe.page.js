// Unsubscribes a recipient from a dashboard's emails, by the token in the link. Runs in the browser.
import { ask, onSubmit, part, show, t, tell } from "/sign-in/shared.js";

const token = new URLSearchParams(location.search).get("token") ?? "";

onSubmit(part("unsubscribe"), async () => {
  const { isGood, problem } = await ask("POST", `/unsubscribe?token=${encodeURIComponent(token)}`);
  if (!isGood) return tell(problem);
  show("unsubscribed");
});

if (token === "") tell([t("Open this page with the link from your email.")]);
