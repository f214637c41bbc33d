import { ShieldCheck, ShieldOff } from "lucide-react";
import { useState } from "react";
import { encode } from "uqr";
import type { Reply } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { CopyButton } from "../base/copy.tsx";
import { TextField } from "../base/labelled.tsx";
import { Section, Shown } from "../base/page.tsx";
import { ShownOnce } from "../base/shown-once.tsx";
import { FormDialog } from "../form/dialog.tsx";
import { messagesBy } from "../form/frame.tsx";

type Begun = Reply<"POST /api/v1/users/me/totp">;

const STATE = "/users/me/totp";

/** Enables and disables an authenticator app as second factor. */
export function SecondFactor() {
  const state = useApi("GET /api/v1/users/me/totp", {});
  const [begun, setBegun] = useState<Begun | null>(null);
  const [isEnding, setEnding] = useState(false);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  const begin = useChange("POST /api/v1/users/me/totp", { touches: [], onDone: setBegun });
  return (
    <Section title={t("Two-factor authentication")}>
      <Shown of={state}>
        {({ isOn, recoveryCodesLeft }) => (
          <div className="flex flex-wrap items-center justify-between gap-3 text-sm">
            <p className="max-w-prose text-soft">
              {isOn
                ? t(
                    "On. Signing in requires a code from your authenticator app. Recovery codes left: {recoveryCodesLeft} of 10.",
                    { recoveryCodesLeft },
                  )
                : t("Off. When it's on, signing in also requires a code from an authenticator app.")}
            </p>
            {isOn ? (
              <Button icon={ShieldOff} onClick={() => setEnding(true)}>
                {t("Turn off")}
              </Button>
            ) : (
              <Button icon={ShieldCheck} busy={begin.isPending} onClick={() => begin.mutate({})}>
                {t("Turn on")}
              </Button>
            )}
          </div>
        )}
      </Shown>
      {begun && (
        <TurnOn
          begun={begun}
          onClose={() => setBegun(null)}
          onDone={(made) => {
            setBegun(null);
            setCodes(made);
          }}
        />
      )}
      {codes && (
        <ShownOnce
          title={t("Save your recovery codes")}
          copyLabel={t("Copy recovery codes")}
          text={codes.join("\n")}
          onClose={() => setCodes(null)}
        >
          {t("If you lose your phone, sign in with one of these codes. Each works once.")}
        </ShownOnce>
      )}
      {isEnding && <TurnOff onClose={() => setEnding(false)} />}
    </Section>
  );
}

function TurnOn(props: { begun: Begun; onClose: () => void; onDone: (codes: readonly string[]) => void }) {
  const { secret, otpauthUrl } = props.begun;
  const [code, setCode] = useState("");
  const confirm = useChange("POST /api/v1/users/me/totp/confirm", {
    touches: [STATE],
    tellsErrors: false,
    onDone: ({ recoveryCodes }) => props.onDone(recoveryCodes),
  });
  return (
    <FormDialog
      title={t("Turn on two-factor authentication")}
      verb={t("Turn on")}
      call={confirm}
      onClose={props.onClose}
      onSend={() => confirm.mutate({ body: { code } })}
    >
      <p className="text-soft">{t("Scan this with an authenticator app, then enter the code it shows.")}</p>
      <QrCode text={otpauthUrl} />
      <div className="flex items-center gap-2 rounded-md border border-line bg-ground px-3 py-2">
        <code className="min-w-0 grow font-mono text-xs break-all select-all">{secret}</code>
        <CopyButton text={secret} label={t("Copy secret")} />
      </div>
      <TextField
        label={t("Code")}
        value={code}
        onChange={setCode}
        fault={messagesBy(confirm.error)("code")}
      />
    </FormDialog>
  );
}

/** Dark on light even in the dark theme, as scanners require. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")))
    .join("");
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      className="mx-auto size-48 rounded-md bg-white"
      shapeRendering="crispEdges"
      role="img"
      aria-label={t("QR code for your authenticator app")}
    >
      <path d={path} fill="#000" />
    </svg>
  );
}

function TurnOff({ onClose }: { onClose: () => void }) {
  const [password, setPassword] = useState("");
  const end = useChange("DELETE /api/v1/users/me/totp", {
    touches: [STATE],
    tellsErrors: false,
    done: t("Two-factor authentication turned off"),
    onDone: onClose,
  });
  return (
    <FormDialog
      title={t("Turn off two-factor authentication")}
      verb={t("Turn off")}
      isBad
      call={end}
      onClose={onClose}
      onSend={() => end.mutate({ body: { password } })}
    >
      <p className="text-soft">{t("You will sign in with your password only.")}</p>
      <TextField
        label={t("Password")}
        type="password"
        value={password}
        onChange={setPassword}
        fault={messagesBy(end.error)("password")}
      />
    </FormDialog>
  );
}
