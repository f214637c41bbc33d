import { fileOperation } from "../../http/page.ts";
import { page } from "../sign-in/page.ts";
import script from "./pages/unsubscribe.page.js" with { type: "text" };

const unsubscribe = page(
  "Unsubscribe",
  "/unsubscribe/unsubscribe.js",
  `<form id="unsubscribe" data-step>
<p>You will no longer get this dashboard's scheduled emails.</p>
<button>Unsubscribe</button>
</form>
<section id="unsubscribed" data-step hidden tabindex="-1">
<p>You are unsubscribed.</p>
</section>`,
);

/** The page that the link in a dashboard's email opens. */
export const unsubscribePageOperations = [
  fileOperation("/unsubscribe", "Get the unsubscribe page", unsubscribe, "text/html"),
  fileOperation("/unsubscribe/unsubscribe.js", "Get the unsubscribe script", script, "text/javascript"),
];
