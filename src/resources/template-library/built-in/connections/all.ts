import type { BuiltIn } from "../contract.ts";
import { airtable } from "./airtable.ts";
import { asana } from "./asana.ts";
import { baserow } from "./baserow.ts";
import { brevo } from "./brevo.ts";
import { calendly } from "./calendly.ts";
import { clickup } from "./clickup.ts";
import { cloudflare } from "./cloudflare.ts";
import { connectionTemplate } from "./contract.ts";
import { digitalocean } from "./digitalocean.ts";
import { directus } from "./directus.ts";
import { discord } from "./discord.ts";
import { dropbox } from "./dropbox.ts";
import { freshdesk } from "./freshdesk.ts";
import { gitea } from "./gitea.ts";
import { github, githubSignIn } from "./github.ts";
import { gitlab, gitlabSignIn } from "./gitlab.ts";
import { gmail } from "./gmail.ts";
import { googleCalendar } from "./google-calendar.ts";
import { googleSheets } from "./google-sheets.ts";
import { grafana } from "./grafana.ts";
import { homeAssistant } from "./home-assistant.ts";
import { hubspot, hubspotSignIn } from "./hubspot.ts";
import { intercom } from "./intercom.ts";
import { jira } from "./jira.ts";
import { linear } from "./linear.ts";
import { mailchimp } from "./mailchimp.ts";
import { matrix } from "./matrix.ts";
import { mattermost } from "./mattermost.ts";
import { microsoftGraph } from "./microsoft-graph.ts";
import { mistral } from "./mistral.ts";
import { monday } from "./monday.ts";
import { n8n } from "./n8n.ts";
import { netbox } from "./netbox.ts";
import { nextcloud } from "./nextcloud.ts";
import { nocodb } from "./nocodb.ts";
import { notion } from "./notion.ts";
import { odoo } from "./odoo.ts";
import { openai } from "./openai.ts";
import { openproject } from "./openproject.ts";
import { pagerduty } from "./pagerduty.ts";
import { paperlessNgx } from "./paperless-ngx.ts";
import { pipedrive } from "./pipedrive.ts";
import { prometheus } from "./prometheus.ts";
import { quickbooks } from "./quickbooks.ts";
import { redmine } from "./redmine.ts";
import { salesforce } from "./salesforce.ts";
import { sendgrid } from "./sendgrid.ts";
import { shopware } from "./shopware.ts";
import { slack, slackSignIn } from "./slack.ts";
import { snipeIt } from "./snipe-it.ts";
import { strapi } from "./strapi.ts";
import { stripe } from "./stripe.ts";
import { supabase } from "./supabase.ts";
import { telegram } from "./telegram.ts";
import { todoist } from "./todoist.ts";
import { trello } from "./trello.ts";
import { twilio } from "./twilio.ts";
import { typeform } from "./typeform.ts";
import { woocommerce } from "./woocommerce.ts";
import { wordpress } from "./wordpress.ts";
import { xero } from "./xero.ts";
import { zammad } from "./zammad.ts";
import { zendesk } from "./zendesk.ts";
import { zoom } from "./zoom.ts";

/** Services with a built-in connection template. */
export const services: readonly BuiltIn[] = [
  airtable,
  asana,
  baserow,
  brevo,
  calendly,
  clickup,
  cloudflare,
  digitalocean,
  directus,
  discord,
  dropbox,
  freshdesk,
  gitea,
  github,
  githubSignIn,
  gitlab,
  gitlabSignIn,
  gmail,
  googleCalendar,
  googleSheets,
  grafana,
  homeAssistant,
  hubspot,
  hubspotSignIn,
  intercom,
  jira,
  linear,
  mailchimp,
  matrix,
  mattermost,
  microsoftGraph,
  mistral,
  monday,
  n8n,
  netbox,
  nextcloud,
  nocodb,
  notion,
  odoo,
  openai,
  openproject,
  pagerduty,
  paperlessNgx,
  pipedrive,
  prometheus,
  quickbooks,
  redmine,
  salesforce,
  sendgrid,
  shopware,
  slack,
  slackSignIn,
  snipeIt,
  strapi,
  stripe,
  supabase,
  telegram,
  todoist,
  trello,
  twilio,
  typeform,
  woocommerce,
  wordpress,
  xero,
  zammad,
  zendesk,
  zoom,
].map(connectionTemplate);
