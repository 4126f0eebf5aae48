package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/query"
	"tape/repo"
)

func newTapesCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "tapes",
		Short: "List the tapes of the workspace",
		Long: `List the tapes of the workspace; for each remote, how many entries of a tape are only here
(ahead) or only there (behind), as of the last push, fetch or pull.`,
		RunE: a.inStore(a.runTapes),
	}
}

type listedTape struct {
	query.Summary
	current bool
	remotes []repo.Distance
}

func (a *App) tapeResult(ctx context.Context, t *repo.Tape, text string) error {
	s, err := t.Summary(ctx)
	if err != nil {
		return err
	}
	return a.result(listedTape{Summary: s, current: s.Name == t.Store().CurrentTape()}.object(), text, quoted(s.Name))
}

func (t listedTape) object() object {
	return object{{"tape", t.Name}, {"entries", t.Entries}, {"anchors", t.Anchors}, {"last_anchor", t.LastAnchor}, {"updated", t.Updated},
		{"current", t.current}}.with("remotes", objects(t.remotes, describeDistance))
}

func (a *App) runTapes(ctx context.Context, store *repo.Store, _ []string) error {
	tapes, err := store.Tapes(ctx)
	if err != nil {
		return err
	}
	remotes, err := store.Remotes(ctx)
	if err != nil {
		return err
	}
	head := []string{"", "TAPE", ">ENTRIES", ">PHASES", "UPDATED"}
	for _, r := range remotes {
		head = append(head, strings.ToUpper(r.Name))
	}
	var list []listedTape
	for _, t := range tapes {
		item := listedTape{current: t.Name() == store.CurrentTape()}
		if item.Summary, err = t.Summary(ctx); err != nil {
			return err
		}
		if len(remotes) > 0 {
			if item.remotes, err = t.Distances(ctx); err != nil {
				return err
			}
		}
		list = append(list, item)
	}
	err = listing[listedTape]{head: append(head, "LAST ANCHOR"), paged: true, object: listedTape.object,
		row: func(t listedTape, add func(cells ...any)) {
			cells := []any{currentMark(t.current), t.Name, t.Entries, t.Anchors, a.ago(t.Updated)}
			for _, d := range t.remotes {
				cells = append(cells, distanceText(d))
			}
			add(append(cells, t.LastAnchor)...)
		}}.show(a, list, nil)
	if name := store.CurrentTape(); err == nil && !a.json && isFork(ctx, store, name) {
		a.say("the current one is the fork %s", quoted(name)) // which is not in the list
	}
	return err
}

func currentMark(current bool) string {
	if current {
		return "*"
	}
	return ""
}
