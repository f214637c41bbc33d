import type { App } from "../../context.ts";
import { fileOperation, smallPage } from "../../http/page.ts";
import german from "./pages/de.json" with { type: "json" };
import deviceScript from "./pages/device.page.js" with { type: "text" };
import loginScript from "./pages/login.page.js" with { type: "text" };
import style from "./pages/page.css" with { type: "text" };
import setupScript from "./pages/setup.page.js" with { type: "text" };
import sharedScript from "./pages/shared.page.js" with { type: "text" };

/** Returns a small page in the style of the sign-in page. `script` is the URL of its module. */
export const page = (title: string, script: string, content: string) =>
  smallPage(
    title,
    script,
    `${content}
<div id="told" role="status"></div>
<noscript><p>This page requires JavaScript. Without a browser, use the weir command.</p></noscript>`,
  );

/** The sign-in form of a page. */
export const signIn = `<section id="sign-in" data-step hidden>
<form id="password">
<label>Email <input name="email" type="email" required autocomplete="username"></label>
<label>Password <input name="password" type="password" required autocomplete="current-password"></label>
<label id="second-factor" hidden>Code from your authenticator app, or a recovery code <input name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="100"></label>
<button>Sign in</button>
</form>
<a id="oidc" class="button" href="/login" hidden>Sign in with single sign-on</a>
</section>`;

const forgot = `
<p><a href="/forgot">Forgot your password?</a></p>`;

const setup = page(
  "Set up Weir",
  "/sign-in/setup.js",
  `<form id="setup" data-step>
<p>Create the owner account and the first organization.</p>
<label>Email <input name="email" type="email" required autocomplete="username"></label>
<label>Password, at least 12 characters <input name="password" type="password" required minlength="12" autocomplete="new-password"></label>
<label>First name <input name="firstName" autocomplete="given-name"></label>
<label>Last name <input name="lastName" autocomplete="family-name"></label>
<label>Organization <input name="organizationName" required autocomplete="organization"></label>
<button>Create account</button>
</form>
<section id="set-up" data-step hidden>
<p>Weir is already set up.</p>
<a class="button" href="/login">Sign in</a>
</section>`,
);

const login = (app: App) =>
  page(
    "Sign in to Weir",
    "/sign-in/login.js",
    `${signIn}${app.mailer ? forgot : ""}
<section id="signed-in" data-step hidden>
<p>You are signed in as <strong id="who"></strong>.</p>
<a id="go-on" class="button" href="/">Continue</a>
<button id="sign-out" class="quiet" type="button">Sign out</button>
</section>`,
  );

const device = page(
  "Authorize device",
  "/sign-in/device.js",
  `${signIn}
<form id="code" data-step hidden>
<p>Enter the code shown in your terminal or on your device.</p>
<label>Code <input name="userCode" class="code" required maxlength="40" autocomplete="off" autocapitalize="characters" spellcheck="false" placeholder="XXXX-XXXX"></label>
<button>Continue</button>
</form>
<form id="confirm" data-step hidden>
<p>This device is requesting full access to your account. Approve it only if you just started the sign-in yourself and the code matches. Never enter a code someone sent you.</p>
<dl>
<dt>Code</dt><dd id="shown-code" class="code"></dd>
<dt>Client</dt><dd id="client"></dd>
<dt>IP address</dt><dd id="address"></dd>
<dt>Program</dt><dd id="program"></dd>
<dt>Requested</dt><dd id="asked-at"></dd>
</dl>
<label>Organization <select id="organization"></select></label>
<button value="approve">Approve</button>
<button class="quiet" value="deny">Deny</button>
</form>
<section id="done" data-step hidden tabindex="-1"><p id="outcome"></p></section>`,
);

/** The sign-in pages. Their assets are under /sign-in. */
export const signInPageOperations = [
  fileOperation("/setup", "Get the setup page", setup, "text/html"),
  fileOperation("/login", "Get the sign-in page", login, "text/html"),
  fileOperation("/device", "Get the device authorization page", device, "text/html"),
  fileOperation("/sign-in/page.css", "Get the sign-in stylesheet", style, "text/css"),
  fileOperation("/sign-in/shared.js", "Get the shared sign-in script", sharedScript, "text/javascript"),
  fileOperation(
    "/sign-in/de.js",
    "Get the German texts of the sign-in pages",
    `export default ${JSON.stringify(german)};\n`,
    "text/javascript",
  ),
  fileOperation("/sign-in/setup.js", "Get the setup script", setupScript, "text/javascript"),
  fileOperation("/sign-in/login.js", "Get the sign-in script", loginScript, "text/javascript"),
  fileOperation("/sign-in/device.js", "Get the device authorization script", deviceScript, "text/javascript"),
];
