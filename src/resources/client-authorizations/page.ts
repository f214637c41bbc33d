import { fileOperation } from "../../http/page.ts";
import { page, signIn } from "../sign-in/page.ts";
import script from "./pages/authorize.page.js" with { type: "text" };

const authorize = page(
  "Connect an application",
  "/oauth/authorize.js",
  `${signIn}
<form id="confirm" data-step hidden>
<p><strong id="client"></strong> wants to use Weir on your behalf. Approve it only if you started this yourself.</p>
<dl>
<dt>Described by</dt><dd id="host"></dd>
<dt>Returns to</dt><dd id="target"></dd>
<dt>It can</dt><dd id="scopes"></dd>
</dl>
<label>Organization <select id="organization"></select></label>
<button value="approve">Approve</button>
<button class="quiet" value="deny">Deny</button>
</form>
<section id="done" data-step hidden tabindex="-1"><p id="outcome"></p></section>`,
);

/** The page where users approve or deny MCP clients. */
export const clientAuthorizationPageOperations = [
  fileOperation("/oauth/authorize", "Get the authorization page", authorize, "text/html"),
  fileOperation("/oauth/authorize.js", "Get the authorization script", script, "text/javascript"),
];
