package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/repo"
)

func newInfoCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:        "info",
		SuggestFor: []string{"status", "stat"},
		Short:      "Show an overview of the session",
		Long: `Show an overview of the session: entries and phases, the open phase, the tokens of the last run,
uncommitted entries, open and merged forks, subagents, the state of the index, and the folder. For a fork, show where it
begins. For each remote, show how many entries are only here (ahead) or only there (behind), as
of the last push, fetch or pull.`,
		RunE: a.onTape(a.runInfo),
	}
}

type overview struct {
	repo.Info
	tape                    *repo.Tape
	archives, forks, merged int
	subagents               int // sessions of their own, below this one
	index                   string
	remotes                 []repo.Distance
	about                   about.Tape
	base                    *repo.Base // of a fork; nil if it is not found
}

func (a *App) runInfo(ctx context.Context, t *repo.Tape, _ []string) error {
	o, err := takeOverview(ctx, t)
	if err == nil {
		o.about, err = a.aboutTape(ctx, t)
	}
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Emit(o.object())
	}
	a.showOverview(o)
	return nil
}

func takeOverview(ctx context.Context, t *repo.Tape) (o overview, err error) {
	o.tape = t
	if o.Info, err = t.Info(ctx); err != nil {
		return o, err
	}
	archives, err := t.Archives(ctx)
	if err != nil {
		return o, err
	}
	forks, err := t.Forks(ctx)
	if err != nil {
		return o, err
	}
	closed, err := t.ClosedForks(ctx)
	if err != nil {
		return o, err
	}
	closed = slices.DeleteFunc(closed, func(f repo.ForkInfo) bool { return f.Status == repo.ForkDiscarded })
	o.archives, o.forks, o.merged = len(archives), len(forks), len(closed)
	if o.subagents, err = catalog.Subagents(ctx, t); err != nil {
		return o, err
	}
	if o.index, err = index.New(t.Store(), nil).State(ctx, t); err != nil {
		return o, err
	}
	if o.remotes, err = t.Distances(ctx); err != nil || !t.IsFork() {
		return o, err
	}
	base, err := t.Base(ctx)
	if errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrNotFound) {
		return o, nil
	}
	o.base = &base
	return o, err
}

func (o overview) object() object {
	var base any
	if o.base != nil {
		base = o.base.Entry
	}
	store := o.tape.Store()
	return append(object{{"name", o.Name}, {"entries", o.Entries}, {"anchors", o.Anchors}, {"last_anchor", o.LastAnchor},
		{"entries_since_last_anchor", o.EntriesSinceLastAnchor}, {"last_token_usage", o.Usage.TotalTokens},
		{"last_token_cache_hit_rate", o.Usage.CacheHitRate}, {"workspace", store.Dir()}, {"branch", o.Branch}, {"dir", orNull(o.Dir)},
		{"commit", o.Commit}, {"uncommitted", o.Uncommitted}, {"size", o.Size}, {"archives", o.archives},
		{"forks", o.forks}, {"merged_forks", o.merged}, {"subagents", o.subagents}, {"parent", orNull(o.tape.Parent())}, {"base", base}, {"index", o.index}, {"current", o.Name == store.CurrentTape()},
		{"remotes", objects(o.remotes, rows.Distance)}, {"tape", o.Name}, {"messages", o.about.Messages},
		{"tool_calls", o.about.ToolCalls}, {"tokens", o.about.Tokens}}, aboutMembers(o.about)...)
}

func (a *App) showOverview(o overview) {
	store := o.tape.Store()
	name := display.Truncate(o.Name, 100)
	if o.Name == store.CurrentTape() {
		name += " (current)"
	}
	pairs := append(rows.Facts(o.about), "tape", name)
	if o.base != nil {
		pairs = append(pairs, "fork of", fmt.Sprintf("%s at %s, with %s of its own", display.Truncate(o.base.Parent, 100), baseText(*o.base),
			display.Entries(o.Entries-o.base.Entry)))
	}
	pairs = append(pairs,
		"entries", fmt.Sprintf("%d, of which %d since the last anchor", o.Entries, o.EntriesSinceLastAnchor),
		"phases", o.Anchors,
		"last anchor", display.Truncate(o.LastAnchor, 100),
		"messages", fmt.Sprintf("%d, with %s", o.about.Messages, display.Count(o.about.ToolCalls, "tool call", "tool calls")),
		"tokens", display.Number(o.about.Tokens),
		"started", a.briefly(o.about.Started),
		"updated", a.briefly(o.about.Updated),
	)
	if u := o.Usage; u.TotalTokens != nil {
		text := display.Number(*u.TotalTokens) + " tokens"
		if u.CacheHitRate != nil {
			text += fmt.Sprintf(", %.0f%% of the input cached", *u.CacheHitRate*100)
		}
		pairs = append(pairs, "last run", text)
	}
	pairs = append(pairs,
		"uncommitted", display.Entries(o.Uncommitted),
		"size", display.Bytes(o.Size),
		"archives", o.archives,
		"forks", fmt.Sprintf("%d open, %d merged", o.forks, o.merged))
	if o.subagents > 0 {
		pairs = append(pairs, "subagents", display.Count(o.subagents, "session of its own", "sessions of their own")+", named "+display.Truncate(o.Name, 100)+"/…")
	}
	pairs = append(pairs, "index", o.index)
	for _, d := range o.remotes {
		pairs = append(pairs, display.Truncate(d.Remote, 30), rows.DistanceText(d))
	}
	pairs = append(pairs, "workspace", store.Dir(), "branch", o.Branch, "commit", o.Commit)
	if o.Dir != "" && o.Dir != store.Dir() {
		pairs = append(pairs, "folder", o.Dir)
	}
	a.Fields(pairs...)
}
