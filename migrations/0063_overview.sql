-- What an organization's overview asks: what is scheduled next, and what lies among the dead letters.
CREATE INDEX automations_scheduled ON automations (organization_id, next_run_at) WHERE next_run_at IS NOT NULL AND deleted_at IS NULL;
--> statement-breakpoint
CREATE INDEX dead_letters_dead ON dead_letters (organization_id) WHERE status = 'dead';
