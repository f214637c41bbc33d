-- Links of people who had been removed from the organization would work again after a new invitation.
DELETE FROM slack_links WHERE NOT EXISTS (
  SELECT 1 FROM memberships m WHERE m.user_id = slack_links.user_id AND m.organization_id = slack_links.organization_id
);
