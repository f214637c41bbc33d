import { fileOperation } from "../../http/page.ts";
import { page } from "../sign-in/page.ts";
import forgotScript from "./pages/forgot.page.js" with { type: "text" };
import resetScript from "./pages/reset.page.js" with { type: "text" };

const forgot = page(
  "Forgot your password?",
  "/sign-in/forgot.js",
  `<form id="forgot" data-step>
<p>Enter the email address of your account to get a link for choosing a new password.</p>
<label>Email <input name="email" type="email" required autocomplete="username"></label>
<button>Send link</button>
<a href="/login">Back to sign-in</a>
</form>
<section id="sent" data-step hidden tabindex="-1">
<p>If an account with this address exists, you will receive a link. It expires in 1 hour.</p>
<a class="button" href="/login">Back to sign-in</a>
</section>`,
);

const reset = page(
  "Choose a new password",
  "/sign-in/reset.js",
  `<form id="reset" data-step>
<p>Setting a new password signs you out everywhere and revokes your access tokens.</p>
<label>New password, at least 12 characters <input name="password" type="password" required minlength="12" autocomplete="new-password"></label>
<button>Set password</button>
</form>
<section id="set" data-step hidden tabindex="-1">
<p>Your password has been changed.</p>
<a class="button" href="/login">Sign in</a>
</section>`,
);

/** The pages of a forgotten password. */
export const passwordResetPageOperations = [
  fileOperation("/forgot", "Get the forgotten password page", forgot, "text/html"),
  fileOperation("/reset", "Get the password reset page", reset, "text/html"),
  fileOperation("/sign-in/forgot.js", "Get the forgotten password script", forgotScript, "text/javascript"),
  fileOperation("/sign-in/reset.js", "Get the password reset script", resetScript, "text/javascript"),
];
