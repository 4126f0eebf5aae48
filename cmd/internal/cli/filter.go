package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/internal/sessions/catalog"
	"tape/internal/store/layout"
	"tape/repo"
)

const datesHelp = `Dates are given as 2026-11-20, 2026-11, "2026-11-20 09:30", 3d, 2h, "2 days ago", today,
yesterday, monday or "last week", in your time zone where they name none. Both ends are
included: --until yesterday includes all of yesterday.`

type dateRange struct{ since, until string }

// addFlags adds the flags; verb is what the command does with entries.
func (o *dateRange) addFlags(cmd *cobra.Command, verb string) {
	cmd.Flags().StringVar(&o.since, "since", "", verb+" entries of `DATE` or later, such as 3d or yesterday")
	cmd.Flags().StringVar(&o.until, "until", "", verb+" entries of `DATE` or earlier")
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

// withZone is a date that a person gave, in their zone where it names none. What is no date is
// left to be refused where it would be stored.
func (a *App) withZone(date string) string {
	if _, err := time.Parse(time.RFC3339Nano, date); err == nil || date == "" {
		return date // kept as it is spelt
	}
	t, err := repo.ParseSince(date, a.Now())
	if err != nil {
		return date
	}
	return repo.FormatDate(t)
}

// entryFilter chooses entries, for the commands that show them.
type entryFilter struct {
	entryView
	limit, newest int
	reverse       bool
	kinds, roles  []string
	dates         dateRange
}

func (o *entryFilter) addFlags(cmd *cobra.Command) {
	o.entryView.addFlags(cmd)
	f := cmd.Flags()
	f.IntVarP(&o.newest, "tail", "n", 0, "show the newest `N` entries")
	f.IntVar(&o.limit, "limit", 0, "show the first `N` entries, in the order shown")
	f.StringArrayVar(&o.kinds, "kind", nil, "show entries of this `KIND` only; can be repeated")
	f.StringArrayVar(&o.roles, "role", nil, "show messages of this `ROLE` only; can be repeated")
	f.BoolVar(&o.reverse, "reverse", false, "show the newest entry first")
	o.dates.addFlags(cmd, "show")
}

func (o *entryFilter) apply(q *repo.Query, changed func(flag string) bool, now time.Time) error {
	q.Kinds, q.Roles, q.Reverse = o.kinds, o.roles, o.reverse
	if changed("limit") {
		q.Limit = repo.N(o.limit)
	}
	if changed("tail") {
		q.Tail = repo.N(o.newest)
	}
	o.newestFirst = o.reverse
	o.events = o.events || len(o.kinds) > 0 // who names a kind wants to see it
	if err := o.dates.apply(q, changed, now); err != nil {
		return err
	}
	return q.Check()
}

func these(tapes ...*repo.Tape) func() ([]*repo.Tape, error) {
	return func() ([]*repo.Tape, error) { return tapes, nil }
}

// known refuses a kind or role that is none of those that the format has, and that no entry of
// the tapes has. A program may ask for a kind of its own before there is one: with --json it is
// refused only if it looks like a slip.
func (a *App) known(ctx context.Context, tapes func() ([]*repo.Tape, error), kinds, roles []string) error {
	kind, role := &nameList{what: "kind", known: layout.KnownKinds()}, &nameList{what: "role", known: knownRoles()}
	kind.want(kinds)
	role.want(roles)
	if len(kind.unknown)+len(role.unknown) == 0 {
		return nil
	}
	all, err := tapes()
	if err != nil {
		return err
	}
	for _, t := range all {
		if len(kind.unknown)+len(role.unknown) == 0 {
			return nil
		}
		for e, err := range t.Entries(ctx, repo.Query{}) {
			kind.seen(e.Kind)
			role.seen(e.Role())
			if err != nil || len(kind.unknown)+len(role.unknown) == 0 {
				break // what cannot be read is told when it is shown
			}
		}
	}
	for _, list := range []*nameList{kind, role} {
		for _, name := range list.unknown {
			meant := catalog.Nearest(name, list.known)
			if len(meant) == 0 && a.json {
				continue
			}
			hint := "there are: " + strings.Join(list.known, ", ")
			if len(meant) > 0 {
				hint = didYouMean(meant)
			}
			return layout.Invalid(hint, "there is no %s %s", list.what, quoted(name))
		}
	}
	return nil
}

func knownRoles() []string { return []string{"user", "assistant", "system", "tool"} }

// nameList is what a filter may name, and what it names without being known.
type nameList struct {
	what           string
	known, unknown []string
}

func (l *nameList) want(names []string) {
	for _, name := range names {
		if !slices.Contains(l.known, name) {
			l.unknown = append(l.unknown, name)
		}
	}
}

func (l *nameList) seen(name string) {
	if name != "" && len(l.unknown) > 0 && !slices.Contains(l.known, name) {
		l.known = append(l.known, name)
		l.unknown = slices.DeleteFunc(l.unknown, func(other string) bool { return other == name })
	}
}
