import { ListChecks } from "lucide-react";
import { Link, useLocation } from "wouter";
import type { Connection } from "../../calls.ts";
import { useApi, useChange } from "../../data.ts";
import { LinkButton } from "../base/button.tsx";
import { Confirm } from "../base/dialog.tsx";
import { Empty } from "../base/page.tsx";

/** Actions and automations whose work names the connection. */
function useUsers(id: string) {
  const actions = useApi("GET /api/v1/actions", { query: { limit: 100 } });
  const automations = useApi("GET /api/v1/automations", { query: { limit: 100 } });
  const mentions = (value: unknown) => JSON.stringify(value).includes(id);
  return {
    isLoading: actions.isPending || automations.isPending,
    isPartial: actions.data?.hasNext === true || automations.data?.hasNext === true,
    users: [
      ...(actions.data?.actions ?? [])
        .filter((action) => action.connectionId === id || mentions(action.definition))
        .map((action) => ({
          id: action.id,
          name: action.name,
          href: `/actions/${action.id}`,
          noun: "action",
        })),
      ...(automations.data?.automations ?? [])
        .filter(({ config }) => mentions(config))
        .map((automation) => ({
          id: automation.id,
          name: automation.name,
          href: `/automations/${automation.id}`,
          noun: "automation",
        })),
    ],
  };
}

/** Who uses a connection. */
export function ConnectionUsers({ id }: { id: string }) {
  const { users, isLoading, isPartial } = useUsers(id);
  return (
    <div className="card">
      {users.length === 0 && !isLoading ? (
        <Empty
          icon={ListChecks}
          title="Not used yet"
          action={<LinkButton href={`/actions/new?connection=${id}`}>Create action</LinkButton>}
        />
      ) : (
        <ul>
          {users.map((user) => (
            <li key={user.id} className="border-t border-line first:border-t-0">
              <Link
                href={user.href}
                className="flex items-center justify-between px-4 py-2.5 text-sm hover:bg-sunken/60"
              >
                <span className="truncate font-medium">{user.name}</span>
                <span className="text-soft">{user.noun}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {isPartial && (
        <p className="border-t border-line px-4 py-2 text-xs text-soft">Shows the 100 most recent of each.</p>
      )}
    </div>
  );
}

/** Asks before a connection goes, and says what hangs on it. */
export function DeleteConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const [, go] = useLocation();
  const { users, isLoading } = useUsers(connection.id);
  const remove = useChange("DELETE /api/v1/connections/{connection_id}", {
    touches: ["/connections"],
    done: `${connection.name} deleted`,
    onDone: () => go("/connections"),
  });
  return (
    <Confirm
      title={`Delete ${connection.name}?`}
      verb="Delete"
      typed={connection.slug}
      isBusy={remove.isPending || isLoading}
      onClose={onClose}
      onConfirm={() => remove.mutate({ path: { connection_id: connection.id } }, { onError: onClose })}
    >
      {users.length > 0 ? (
        <div>
          <p>In use by the following. Switch them to another connection before you delete this one:</p>
          <ul className="mt-1 list-disc pl-5">
            {users.map(({ id, name, noun }) => (
              <li key={id}>
                {name} <span className="text-faint">({noun})</span>
              </li>
            ))}
          </ul>
        </div>
      ) : (
        <p>Nothing uses this connection. Its credentials are permanently deleted. Data it loaded is kept.</p>
      )}
    </Confirm>
  );
}
