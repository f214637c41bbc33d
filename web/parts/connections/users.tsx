import { ListChecks } from "lucide-react";
import { Link, useLocation } from "wouter";
import type { Connection, Reply } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { t } from "../../texts/text.ts";
import { Button, LinkButton } from "../base/button.tsx";
import { Confirm, Dialog } from "../base/dialog.tsx";
import { Empty, Shown } from "../base/page.tsx";

type Uses = Reply<"GET /api/v1/connections/{connection_id}/uses">;

const useUses = (id: string) =>
  useApi("GET /api/v1/connections/{connection_id}/uses", { path: { connection_id: id } });

const usersOf = ({ actions, automations, apis }: Uses) => [
  ...actions.map(({ id, name }) => ({ id, name, href: `/actions/${id}`, noun: t("Action") })),
  ...automations.map(({ id, name, steps }) => ({
    id,
    name,
    href: `/automations/${id}`,
    noun: steps.length > 0 ? `${t("Automation")}: ${steps.join(", ")}` : t("Automation"),
  })),
  ...apis.map(({ id, name }) => ({ id, name, href: `/catalog/${id}`, noun: "API" })),
];

function Users({ of }: { of: Uses }) {
  return (
    <ul>
      {usersOf(of).map(({ id, name, href, noun }) => (
        <li key={id} className="border-t border-line first:border-t-0">
          <Link
            href={href}
            className="flex items-center justify-between gap-4 px-4 py-2.5 text-sm hover:bg-sunken/60"
          >
            <span className="truncate font-medium" dir="auto">
              {name}
            </span>
            <span className="max-w-1/2 truncate text-soft">{noun}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

/** Resources that use a connection. */
export function ConnectionUsers({ id }: { id: string }) {
  return (
    <div className="card">
      <Shown of={useUses(id)} rows={3}>
        {(uses) =>
          uses.total === 0 ? (
            <Empty
              icon={ListChecks}
              title={t("Not used yet")}
              action={<LinkButton href={`/actions/new?connection=${id}`}>{t("Create action")}</LinkButton>}
            />
          ) : (
            <Users of={uses} />
          )
        }
      </Shown>
    </div>
  );
}

/** Confirms deleting a connection. One in use can't be deleted, and its users are listed. */
export function DeleteConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const [, go] = useLocation();
  const uses = useUses(connection.id);
  const remove = useChange("DELETE /api/v1/connections/{connection_id}", {
    touches: ["/connections"],
    done: t("{name} deleted", { name: connection.name }),
    onDone: () => go("/connections"),
  });
  const title = t("Delete {name}?", { name: connection.name });
  if (uses.data?.total === 0)
    return (
      <Confirm
        title={title}
        verb={t("Delete")}
        typed={connection.slug}
        isBusy={remove.isPending}
        onClose={onClose}
        onConfirm={() => remove.mutate({ path: { connection_id: connection.id } }, { onError: onClose })}
      >
        <p>
          {t(
            "Nothing uses this connection. Its credentials are permanently deleted. Data it loaded is kept.",
          )}
        </p>
      </Confirm>
    );
  return (
    <Dialog title={title} onClose={onClose} foot={<Button onClick={onClose}>{t("Close")}</Button>}>
      <Shown of={uses} rows={3}>
        {(data) => (
          <>
            <p className="mb-2 text-soft">
              {t(
                "This connection is in use. Switch the following to another connection before you delete it.",
              )}
            </p>
            <Users of={data} />
          </>
        )}
      </Shown>
    </Dialog>
  );
}
