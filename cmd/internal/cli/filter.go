package cli

import (
	"time"

	"github.com/spf13/cobra"

	"tape/repo"
)

type dateRange struct{ since, until string }

// addFlags adds the flags; verb is what the command does with entries.
func (o *dateRange) addFlags(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVar(&o.since, "since", "", verb+" what is not older than `DATE`")
	cmd.Flags().StringVar(&o.until, "until", "", verb+" what is not newer than `DATE`")
}

func (o *dateRange) apply(q *repo.Query, changed func(flag string) bool, now time.Time) (err error) {
	if changed("since") {
		if q.Since, err = repo.ParseSince(o.since, now); err != nil {
			return err
		}
	}
	if changed("until") {
		q.Until, err = repo.ParseUntil(o.until, now)
	}
	return err
}

type entryFilter struct {
	limit, tail int
	reverse     bool
	oneline     bool
	kinds       []string
	dates       dateRange
}

func (o *entryFilter) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVarP(&o.limit, "limit", "n", 0, "show the first `N` entries, in the order shown")
	f.IntVar(&o.tail, "tail", 0, "show the last `N` entries, in the order shown")
	f.StringArrayVar(&o.kinds, "kind", nil, "show entries of this `KIND` only; may be repeated")
	f.BoolVar(&o.reverse, "reverse", false, "show the newest entry first")
	onelineFlag(cmd, &o.oneline)
	o.dates.addFlags(cmd, "show")
}

func onelineFlag(cmd *cobra.Command, oneline *bool) {
	cmd.Flags().BoolVar(oneline, "oneline", false, "show each entry on one line")
}

func (o *entryFilter) apply(q *repo.Query, changed func(flag string) bool, now time.Time) error {
	q.Kinds, q.Reverse = o.kinds, o.reverse
	if changed("limit") {
		q.Limit = repo.N(o.limit)
	}
	if changed("tail") {
		q.Tail = repo.N(o.tail)
	}
	return o.dates.apply(q, changed, now)
}
