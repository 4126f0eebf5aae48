package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/repo"
)

func newAnchorsCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "anchors",
		Short: "List the phases of the session",
		Long: `List the phases of the session. Wherever a command takes an anchor, you can give its name (which
means the latest anchor of that name), its number (002, or 2), its folder (002_plan), or
latest. A name takes precedence over a number.`,
		RunE: a.onTape(a.runAnchors),
	}
}

func (a *App) runAnchors(ctx context.Context, t *repo.Tape, _ []string) error {
	phases, err := t.Phases(ctx)
	head := []string{"SEQ", "~NAME", ">ENTRIES", "DATE", "?COMMIT", "??TAG", "SUMMARY"}
	summarized := slices.ContainsFunc(phases, func(p repo.Phase) bool { return p.Summary() != "" })
	const roomy = 140
	brief := summarized && a.Width() > 0 && a.Width() < roomy
	if brief { // a summary says more than a commit
		head = slices.Delete(head, 4, 6)
	}
	return listing[repo.Phase]{
		Head:  head,
		Paged: true,
		Object: func(p repo.Phase) object {
			return object{{"anchor_seq", p.Seq}, {"name", p.Name}, {"state", p.State}, {"entries", p.Entries}, {"first_id", p.FirstID},
				{"last_id", p.LastID}, {"date", p.Date}, {"commit", orNull(p.Commit)}, {"tag", orNull(p.Tag)}}
		},
		Row: func(p repo.Phase, add func(cells ...any)) {
			cells := []any{fmt.Sprintf("%03d", p.Seq), p.Name, p.Entries, a.ago(p.Date), fmt.Sprintf("%.10s", p.Commit), p.Tag}
			if brief {
				cells = cells[:4]
			}
			add(append(cells, display.Shorten(strings.Join(strings.Fields(p.Summary()), " "), 200))...)
		},
	}.Show(&a.Streams, phases, err)
}
