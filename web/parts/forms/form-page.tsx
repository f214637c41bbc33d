import { Check } from "lucide-react";
import { useRef, useState } from "react";
import { ApiError, sendForm } from "../../api.ts";
import { base } from "../../base.ts";
import type { Reply } from "../../calls.ts";
import { useApi } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button } from "../base/button.tsx";
import { Locked } from "../base/locked.tsx";
import { Empty, Failed, Loading } from "../base/page.tsx";
import { AnswerForm, Faults, type Values } from "../form/form.tsx";
import { faultsOf, Refusal } from "../form/frame.tsx";
import { startValue } from "../form/schema.ts";

type Form = Reply<"GET /api/v1/forms/{org_id}/{path}">;

/** The page of an automation's form. A public form is for anyone, so nothing on the page needs a sign-in. */
export default function FormPage({ organization, path }: { organization: string; path: string }) {
  const form = useApi("GET /api/v1/forms/{org_id}/{path}", { path: { org_id: organization, path } });
  if (form.error instanceof ApiError && form.error.status === 401) {
    location.replace(`${base}/login?return_to=${encodeURIComponent(location.pathname)}`);
    return null;
  }
  return (
    <main className="mx-auto w-full max-w-2xl p-4 sm:p-8">
      {form.data ? (
        <Fields form={form.data} to={`${base}/f/${organization}/${path}`} />
      ) : form.error ? (
        <Failed error={form.error} again={() => void form.refetch()} />
      ) : (
        <Loading />
      )}
    </main>
  );
}

function Fields({ form, to }: { form: Form; to: string }) {
  const { title, description, schema, submitLabel } = form;
  const [answers, setAnswers] = useState<Values>(() => startValue(schema, true));
  const isSending = useRef(false);
  const [state, setState] = useState<"open" | "sending" | "sent">("open");
  const [error, setError] = useState<Error | null>(null);
  if (state === "sent")
    return (
      <Empty
        icon={Check}
        title={t("Sent")}
        action={
          <Button
            onClick={() => {
              setAnswers(startValue(schema, true));
              setState("open");
            }}
          >
            {t("Send another response")}
          </Button>
        }
      >
        {t("Your response has been recorded.")}
      </Empty>
    );
  const send = async () => {
    if (isSending.current) return;
    isSending.current = true;
    setState("sending");
    setError(null);
    try {
      await sendForm(to, answers);
      setState("sent");
    } catch (failure) {
      setError(failure as Error);
      setState("open");
    } finally {
      isSending.current = false;
    }
  };
  return (
    <form
      className="space-y-5 rounded-lg border border-line bg-raised p-5 sm:p-8"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <h1 className="text-xl font-semibold [overflow-wrap:anywhere]" dir="auto">
        {title}
      </h1>
      {description && (
        <p className="whitespace-pre-wrap text-soft [overflow-wrap:anywhere]" dir="auto">
          {description}
        </p>
      )}
      <Refusal error={error} />
      <Faults of={faultsOf(error)} drawn={[["body"]]} />
      <Locked isOn={state === "sending"}>
        <AnswerForm
          schema={schema}
          value={answers}
          onChange={setAnswers}
          at={["body"]}
          faults={faultsOf(error)}
        />
      </Locked>
      <Button type="submit" kind="main" busy={state === "sending"}>
        {submitLabel ?? t("Send")}
      </Button>
    </form>
  );
}
