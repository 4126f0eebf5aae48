package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/store/layout"
	"tape/repo"
)

const datesHelp = `Dates are given as 2026-11-20, 2026-11, "2026-11-20 09:30", 3d, 2h, "2 days ago", today,
yesterday, monday or "last week". A date without a time zone is in yours. Both ends are
included: --until yesterday includes all of yesterday.`

// withZone returns a date with a time zone, the user's own if the date names none. Text that is not a
// date is returned as it is; storing it fails.
func (a *App) withZone(date string) string {
	if _, err := time.Parse(time.RFC3339Nano, date); err == nil || date == "" {
		return date // keeps its spelling
	}
	t, err := repo.ParseSince(date, a.Now())
	if err != nil {
		return date
	}
	return repo.FormatDate(t)
}

// addFilters adds the flags of filters. verb says in their help what the command does with entries.
func addFilters(cmd *cobra.Command, p *filter.Params, verb string) {
	f := cmd.Flags()
	for _, field := range filter.Fields() {
		name, help := strings.TrimPrefix(filter.AsFlag(field.Name), "--"), verb+" "+field.Help
		if field.List != nil {
			f.StringArrayVar(field.List(p), name, nil, help+"; can be repeated")
		} else {
			f.StringVar(field.Date(p), name, "", help)
		}
	}
}

// entryFilter has the flags of commands that show selected entries.
type entryFilter struct {
	entryView
	filter.Params
	limit, tail int
	reverse     bool
}

func (o *entryFilter) addFlags(cmd *cobra.Command) {
	o.entryView.addFlags(cmd)
	addFilters(cmd, &o.Params, "show")
	f := cmd.Flags()
	f.IntVarP(&o.tail, "tail", "n", 0, "show the newest `N` entries")
	f.IntVar(&o.limit, "limit", 0, "show the first `N` entries, in the order shown")
	f.BoolVar(&o.reverse, "reverse", false, "show the newest entry first")
}

func (o *entryFilter) query(changed func(flag string) bool, now time.Time) (q repo.Query, err error) {
	if q, err = o.Query(filter.AsFlag, now); err != nil {
		return q, err
	}
	if q.Reverse = o.reverse; changed("limit") {
		q.Limit, err = filter.Count("--limit", &o.limit)
	}
	if changed("tail") && err == nil {
		q.Tail, err = filter.Count("--tail", &o.tail)
	}
	o.newestFirst = o.reverse
	o.events = o.events || len(o.Kinds) > 0 // events may be of that kind
	return q, err
}

// these returns a function that returns the tapes, for [App.checkKnown].
func these(tapes ...*repo.Tape) func() ([]*repo.Tape, error) {
	return func() ([]*repo.Tape, error) { return tapes, nil }
}

// checkKnown refuses a kind or role that is neither in the format nor in any entry of the tapes: it is a
// typing error. With --json nothing is refused: a program may ask for its own kind before an entry has it.
func (a *App) checkKnown(ctx context.Context, tapes func() ([]*repo.Tape, error), q repo.Query) error {
	if a.JSON {
		return nil
	}
	for _, part := range []struct {
		name         string
		asked, known []string
		of           func(repo.Entry) string
	}{
		{"kind", q.Kinds, layout.KnownKinds(), func(e repo.Entry) string { return e.Kind }},
		{"role", q.Roles, layout.KnownRoles(), repo.Entry.Role},
	} {
		for _, name := range part.asked {
			if slices.Contains(part.known, name) {
				continue
			}
			all, err := tapes()
			if err != nil {
				return err
			}
			if part.known = addUsed(ctx, all, part.known, name, part.of); slices.Contains(part.known, name) {
				continue
			}
			hint := "there are: " + strings.Join(part.known, ", ")
			if meant := catalog.Nearest(name, part.known); len(meant) > 0 {
				hint = didYouMean(meant)
			}
			return layout.Invalid(hint, "--%s: there is no %s %s", part.name, part.name, quoted(name))
		}
	}
	return nil
}

// addUsed adds to names the kinds or roles of the entries, up to the first entry that has name.
func addUsed(ctx context.Context, tapes []*repo.Tape, names []string, name string, of func(repo.Entry) string) []string {
	for _, t := range tapes {
		for e, err := range t.Entries(ctx, repo.Query{}) {
			if err != nil {
				break // the error is reported when the entries are shown
			}
			used := of(e)
			if used != "" && !slices.Contains(names, used) {
				names = append(names, used)
			}
			if used == name {
				return names
			}
		}
	}
	return names
}
