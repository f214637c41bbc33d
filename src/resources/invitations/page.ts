import { fileOperation } from "../../http/page.ts";
import { page } from "../sign-in/page.ts";
import ownScript from "./pages/invitations.page.js" with { type: "text" };
import script from "./pages/invite.page.js" with { type: "text" };

const invite = page(
  "Accept invitation",
  "/invite/invite.js",
  `<form id="join" data-step hidden>
<p>You are signed in as <strong id="who"></strong>.</p>
<button>Accept invitation</button>
<button id="another" class="quiet" type="button">Use a different account</button>
</form>
<form id="come-in" data-step hidden>
<p>Choose a password, or enter your existing one.</p>
<label>Password, at least 12 characters <input name="password" type="password" required minlength="12" autocomplete="new-password"></label>
<label>First name <input name="firstName" autocomplete="given-name"></label>
<label>Last name <input name="lastName" autocomplete="family-name"></label>
<button>Accept invitation</button>
<a id="elsewhere" class="button" href="/login">Sign in first</a>
</form>
<section id="joined" data-step hidden tabindex="-1">
<p>You joined as <strong id="who-joined"></strong>.</p>
<a class="button" href="/">Open Weir</a>
</section>`,
);

const invitations = page(
  "Your invitations",
  "/invite/invitations.js",
  `<section id="open" data-step hidden>
<ul id="invitations"></ul>
<p id="none" hidden>No pending invitations</p>
<a id="go-on" class="button" href="/">Continue to Weir</a>
</section>`,
);

/**
 * The page that an invitation's link opens, which works by the token in the link,
 * and the page of a user's own invitations.
 */
export const invitePageOperations = [
  fileOperation("/invite", "Get the invitation page", invite, "text/html"),
  fileOperation("/invite/invite.js", "Get the invitation script", script, "text/javascript"),
  fileOperation("/invitations", "Get the pending invitations page", invitations, "text/html"),
  fileOperation("/invite/invitations.js", "Get the pending invitations script", ownScript, "text/javascript"),
];
