// Package stats shows sums of what was done in sessions, and what it cost.
package stats

import (
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/show/report"
)

func object(r report.Row) stdio.Object {
	t := r.AllTokens()
	out := stdio.Object{{"by", stdio.OrNull(r.Key)}, {"sessions", r.Sessions}, {"turns", r.Turns}, {"active_s", int64(r.Active.Round(time.Second) / time.Second)},
		{"input_tokens", t.Input}, {"output_tokens", t.Output}, {"cache_read_tokens", t.CacheRead}, {"cache_write_tokens", t.CacheWrite}}
	if r.Priced {
		out = append(out, stdio.Member{"cost", float64(int64(r.Cost*1e6+0.5)) / 1e6})
	}
	out = append(out, stdio.Object{{"calls", r.Calls}, {"failed", r.Failed}}...)
	if r.Priced {
		out = out.With("unpriced", r.Unpriced)
	}
	return out
}
