import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { Route, Router, Switch, useLocation } from "wouter";
import {
  ApiError,
  hasOrganization,
  leaveOrganization,
  type SessionFault,
  shown,
  showUser,
  whenSignedOut,
} from "./api.ts";
import { base } from "./base.ts";
import type { Reply } from "./calls.ts";
import { useApi } from "./data.ts";
import { forgetDraftsOfOthers, leaveDrafts } from "./drafts.ts";
import { Frame } from "./frame.tsx";
import { followLink, linkTo, useNamedLocation } from "./linked.ts";
import { startLive } from "./live.ts";
import { SignIn } from "./parts/account/sign-in.tsx";
import { setRegion } from "./parts/base/formats.ts";
import { Later, part } from "./parts/base/later.tsx";
import { Failed, Loading } from "./parts/base/page.tsx";
import { notify, Toasts } from "./parts/base/toast.tsx";
import { askFirst, Leaving } from "./parts/base/unsaved.tsx";
import { Boundary } from "./parts/layout/boundary.tsx";
import { NOWHERE, PageOf, ROUTES } from "./routes.tsx";
import { whenSignedOutElsewhere } from "./sign-out.ts";
import { whenNotStored } from "./storage.ts";
import { followLocale } from "./texts/language.ts";
import { t } from "./texts/text.ts";

whenNotStored(() =>
  notify(
    t("The browser's storage is full or blocked. What you type or select is lost when you leave."),
    "bad",
  ),
);

/** Opens the sign-in page, and returns here afterwards. */
const leaveToSignIn = () =>
  location.replace(`${base}/login?return_to=${encodeURIComponent(location.pathname + location.search)}`);

/** `/f/ORGANIZATION/PATH`: the form of an automation. */
const FORM = /^\/f\/([^/]+)\/(.+)$/;

/** `/d/TOKEN`: a dashboard that is shared by a link. */
const SHARED = /^\/d\/([^/]+)$/;
const formPage = part(() => import("./parts/forms/form-page.tsx"));
const prove = part(() => import("./parts/account/prove.tsx"));
const sharedDashboard = part(() => import("./parts/dashboards/shared-page.tsx"));

export function App() {
  const [, token] = SHARED.exec(location.pathname.slice(base.length)) ?? [];
  if (token) return <Later of={sharedDashboard} props={{ token }} />;
  const [, organization, path] = FORM.exec(location.pathname.slice(base.length)) ?? [];
  if (!organization || !path) return <Linked />;
  const props = { organization: decodeURIComponent(organization), path: decodeURIComponent(path) };
  return <Later of={formPage} props={props} />;
}

/** Shows nothing in another organization than the one that the link names. */
function Linked() {
  const link = useQuery({
    queryKey: ["link"],
    queryFn: () => followLink().then(() => null),
    staleTime: "static",
  });
  if (link.isSuccess) return <Signed />;
  return link.error ? <Failed error={link.error} again={() => void link.refetch()} /> : <Loading />;
}

/**
 * Checks when the tab gets the focus whether someone else has signed in in this browser (`isOther`), or whether the
 * user is no longer in the tab's organization. If so, returns true, and opens the page again once nothing of it is
 * shown.
 */
function useOtherUser(
  { error, refetch }: UseQueryResult<Reply<"GET /api/v1/users/me">, Error>,
  isOther: boolean,
): boolean {
  const isOutside = error instanceof ApiError && error.code === "forbidden" && hasOrganization();
  useEffect(() => {
    const check = () => void refetch();
    window.addEventListener("focus", check);
    return () => window.removeEventListener("focus", check);
  }, [refetch]);
  useEffect(() => {
    if (isOutside) leaveOrganization();
    if (isOther || isOutside) location.reload();
  }, [isOther, isOutside]);
  return isOther || isOutside;
}

/** Of several organizations, links name the one of their page, so that it is also shown in a new tab. */
function useHrefs(isIn: boolean) {
  const found = useApi("GET /api/v1/users/me/memberships", {}, { isFixed: true, enabled: isIn });
  const items = found.data?.items ?? [];
  const current = items.find(({ isCurrent }) => isCurrent)?.organization.id;
  const here = found.isError ? shown().organization : items.length > 1 && current;
  return useMemo(() => (here ? { hrefs: (href: string) => linkTo(href, here) } : {}), [here]);
}

/** What is wrong with the session. `left`: the user has signed out in another tab, and nothing of them is shown. */
function useFault() {
  const [fault, setFault] = useState<SessionFault | "left" | null>(null);
  const hasLeft = fault === "left";
  useEffect(
    () =>
      whenSignedOut((next) => {
        if (hasLeft && next === "ended") return;
        if (!hasLeft && next === "other") leaveDrafts();
        setFault(next);
      }),
    [hasLeft],
  );
  useEffect(() => whenSignedOutElsewhere(() => setFault("left")), []);
  return [fault, () => setFault(null)] as const;
}

function Signed() {
  const [at] = useLocation();
  const [fault, onDone] = useFault();
  const isSignedOut = fault === "ended" || fault === "left";
  /** Checked once, so that a later change of locale doesn't reload a page in use. */
  const isReopening = useRef<boolean>(null);
  const me = useApi("GET /api/v1/users/me", {}, { isFixed: true });
  const isIn = me.data !== undefined;
  const isOther = useOtherUser(me, fault === "other");
  const hrefs = useHrefs(isIn);
  useEffect(() => (isIn && !isSignedOut ? startLive() : undefined), [isIn, isSignedOut]);

  if (isOther) return <Loading />;
  if (!isIn) {
    if (me.error instanceof ApiError && me.error.status === 401) {
      leaveToSignIn();
      return null;
    }
    return me.error ? <Failed error={me.error} again={() => void me.refetch()} /> : <Loading />;
  }
  showUser(me.data.id);
  isReopening.current ??= followLocale(me.data.locale);
  if (isReopening.current) return <Loading />;
  forgetDraftsOfOthers();
  setRegion(me.data);
  return (
    <Router base={base} hook={useNamedLocation} aroundNav={askFirst} {...hrefs}>
      <div hidden={fault === "left"}>
        <Frame>
          <Boundary key={at}>
            <Switch>
              {ROUTES.map((route) => (
                <Route key={route.path} path={route.path}>
                  {(params) => (
                    <PageOf
                      key={Object.values(params).join("/")}
                      route={route}
                      params={params as Record<string, string>}
                    />
                  )}
                </Route>
              ))}
              <Route>
                <PageOf route={NOWHERE} params={{}} />
              </Route>
            </Switch>
          </Boundary>
        </Frame>
      </div>
      <Toasts />
      <Leaving />
      {isSignedOut && <SignIn email={me.data.email} onDone={onDone} />}
      {fault === "old" && <Later of={prove} props={{ onDone }} waiting={null} />}
    </Router>
  );
}
