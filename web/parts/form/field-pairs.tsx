import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { t } from "../../texts/text.ts";
import { Button, IconButton } from "../base/button.tsx";
import { TemplateText } from "../editor/template-text.tsx";
import { asObject, type FieldProps, Frame, messagesOf } from "./field-frame.tsx";
import { aboutOf, titleOf } from "./schema.ts";

interface Pair {
  name: string;
  value: string;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** An object with arbitrary names, such as headers. */
export function Pairs({ name, schema, value, faults, onChange }: FieldProps) {
  const [pairs, setPairs] = useState<Pair[]>(() =>
    Object.entries(asObject(value)).map(([key, of]) => ({ name: key, value: asText(of) })),
  );
  const put = (next: Pair[]) => {
    setPairs(next);
    const named = next.filter((pair) => pair.name !== "");
    onChange(
      named.length === 0 ? undefined : Object.fromEntries(named.map((pair) => [pair.name, pair.value])),
    );
  };
  const title = titleOf(name, schema);
  return (
    <Frame
      title={title}
      about={aboutOf(schema)}
      fault={messagesOf(faults)}
      aside={
        <Button kind="quiet" icon={Plus} onClick={() => setPairs([...pairs, { name: "", value: "" }])}>
          {t("Add")}
        </Button>
      }
    >
      {pairs.length > 0 && (
        <div className="space-y-2">
          {pairs.map((pair, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a pair's name changes while it is typed
            <div key={at} className="flex items-center gap-2">
              <input
                aria-label={t("{title}: name {at}", { title, at: at + 1 })}
                className="field max-w-48 font-mono text-xs"
                value={pair.name}
                onChange={(event) =>
                  put(
                    pairs.map((each, index) => (index === at ? { ...each, name: event.target.value } : each)),
                  )
                }
              />
              <TemplateText
                aria-label={t("{title}: value {at}", { title, at: at + 1 })}
                className="font-mono text-xs"
                value={pair.value}
                onChange={(next) =>
                  put(pairs.map((each, index) => (index === at ? { ...each, value: next } : each)))
                }
              />
              <IconButton
                icon={Trash2}
                label={t("Remove {title} {at}", { title, at: at + 1 })}
                onClick={() => put(pairs.filter((_, index) => index !== at))}
              />
            </div>
          ))}
        </div>
      )}
    </Frame>
  );
}
