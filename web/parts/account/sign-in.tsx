import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { ApiError } from "../../api.ts";
import { base } from "../../base.ts";
import { useApi, useChange } from "../../data.ts";
import { rich } from "../../texts/rich.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Dialog } from "../base/dialog.tsx";
import { TextField } from "../base/labelled.tsx";

/** Asks to sign in again on top of the page, so that nothing typed is lost. */
export function SignIn({ email, onDone }: { email: string; onDone: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const queries = useQueryClient();
  const methods = useApi("GET /api/v1/auth/methods", {}, { isFixed: true });
  const login = useChange("POST /api/v1/auth/login", {
    touches: [],
    tellsErrors: false,
    onDone() {
      onDone();
      void queries.invalidateQueries();
    },
  });
  const needsCode =
    code !== "" || (login.error instanceof ApiError && login.error.code === "second_factor_required");
  const send = (event: FormEvent) => {
    event.preventDefault();
    login.mutate({ body: { email, password, ...(code ? { code } : {}) } });
  };
  return (
    <Dialog title={t("Your session has ended")} onClose={() => undefined}>
      <form onSubmit={send} className="space-y-4">
        <p className="text-soft">{t("Sign in to continue. Your unsaved changes are still here.")}</p>
        {methods.data?.password !== false && (
          <>
            <p>
              {rich("Signing in as {email}", { email: <strong className="font-semibold">{email}</strong> })}
            </p>
            <TextField
              label={t("Password")}
              type="password"
              value={password}
              onChange={setPassword}
              fault={needsCode ? undefined : login.error?.message}
              autoFocus
            />
            {needsCode && (
              <TextField
                label={t("Code from your authenticator app, or a recovery code")}
                value={code}
                onChange={setCode}
                fault={login.error?.message}
                autoFocus
              />
            )}
            <Button type="submit" kind="main" busy={login.isPending} className="w-full">
              {t("Sign in")}
            </Button>
          </>
        )}
        {methods.data?.oidc && (
          <p className="text-soft">
            <a href={`${base}/login`} target="_blank" rel="noreferrer" className="text-accent underline">
              {t("Sign in with {name} in another tab", { name: methods.data.oidc.name })}
            </a>{" "}
            <button type="button" className="text-accent underline" onClick={onDone}>
              {t("Continue after signing in")}
            </button>
          </p>
        )}
        <p className="text-soft">
          <a href={`${base}/login`} className="text-accent underline">
            {t("Sign in as someone else")}
          </a>
        </p>
      </form>
    </Dialog>
  );
}
