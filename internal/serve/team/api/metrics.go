package api

import (
	"fmt"
	"slices"
	"strings"
)

// metrics sends the status of the remotes that the user sees, in the format of Prometheus.
func (c *request) metrics() (any, error) {
	all, err := c.Store.Status(c.r.Context())
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	metric := func(name, kind, help string, value func(i int) (float64, bool)) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		for i, r := range all {
			if v, ok := value(i); ok && slices.Contains(c.seen, r.Remote) {
				fmt.Fprintf(&b, "%s{remote=%q} %v\n", name, r.Remote, v)
			}
		}
	}
	metric("tape_team_entries", "gauge", "Entries of the remote.", func(i int) (float64, bool) { return float64(all[i].Entries), true })
	metric("tape_team_tapes", "gauge", "Tapes and forks of the remote.", func(i int) (float64, bool) { return float64(all[i].Tapes), true })
	metric("tape_team_sync_lag_seconds", "gauge", "Time since the last successful sync began.", func(i int) (float64, bool) {
		if all[i].Synced == nil {
			return 0, false
		}
		return c.Now().Sub(*all[i].Synced).Seconds(), true
	})
	metric("tape_team_sync_failed", "gauge", "1 if the last sync failed.", func(i int) (float64, bool) {
		if all[i].Error != "" {
			return 1, true
		}
		return 0, true
	})
	c.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = c.w.Write([]byte(b.String()))
	return nil, nil
}
