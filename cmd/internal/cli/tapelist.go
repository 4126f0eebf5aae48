package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"tape/cmd/internal/rows"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/store/about"
	"tape/repo"
)

type listedTape = *rows.Tape

// listTapes lists the tapes of the selected workspace, or, with -A, of all: the newest first, empty ones last.
func (a *App) listTapes(ctx context.Context) ([]listedTape, error) {
	lists, err := inStores(ctx, a, a.tapesOf)
	if err != nil {
		return nil, err
	}
	list := slices.Concat(lists...)
	slices.SortStableFunc(list, func(a, b listedTape) int {
		return cmp.Or(rows.BoolInt(a.Empty())-rows.BoolInt(b.Empty()), b.Updated.Compare(a.Updated), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Workspace, b.Workspace))
	})
	facts := make([]*about.Tape, len(list))
	for i := range list {
		list[i].Number, facts[i] = i+1, &list[i].Tape
	}
	if a.everywhere && !a.JSON {
		catalog.TellApart(facts)
	}
	return list, nil
}

// tapesOf returns, in no order, the tapes of a workspace that belong in lists.
func (a *App) tapesOf(ctx context.Context, store *repo.Store) ([]listedTape, error) {
	facts, err := a.about(ctx, store, nil)
	if err != nil {
		return nil, err
	}
	var remotes []repo.Remote
	if a.JSON || !a.everywhere { // a list of all workspaces has no columns for their remotes
		if remotes, err = store.Remotes(ctx); err != nil {
			return nil, err
		}
	}
	current := store.CurrentTape()
	list := make([]listedTape, 0, len(facts))
	for branch, known := range facts {
		if !strings.HasPrefix(branch, "tape/") || !catalog.Listed(known) {
			continue
		}
		item := &rows.Tape{Tape: known, Workspace: a.workspaceOf(store), Current: known.Name == current}
		if len(remotes) > 0 {
			t, err := store.ByBranch(ctx, branch)
			if errors.Is(err, repo.ErrNotFound) {
				continue // removed meanwhile
			}
			if err == nil {
				item.Remotes, err = t.Distances(ctx)
			}
			if err != nil {
				return nil, err
			}
		}
		list = append(list, item)
	}
	return list, nil
}

// about asks the index what tapes are about, by branch; nil means all. It warns of damaged tapes, which
// get only their names.
func (a *App) about(ctx context.Context, store *repo.Store, tapes []*repo.Tape) (map[string]about.Tape, error) {
	return withIndex(a, store, func(x *index.Index) (map[string]about.Tape, error) { return a.aboutIn(ctx, x, store, tapes) })
}

// aboutIn is about with an index that is open.
func (a *App) aboutIn(ctx context.Context, x *index.Index, store *repo.Store, tapes []*repo.Tape) (map[string]about.Tape, error) {
	facts, damaged, err := catalog.About(ctx, x, store, tapes)
	for _, d := range damaged {
		a.Warn(d.Error())
	}
	return facts, err
}

// aboutTape returns what a tape is about. A fork is read, since the index has only its own entries.
func (a *App) aboutTape(ctx context.Context, t *repo.Tape) (facts about.Tape, err error) {
	if !t.IsFork() {
		all, err := a.about(ctx, t.Store(), []*repo.Tape{t})
		return all[t.Branch()], err
	}
	for e, err := range t.Entries(ctx, repo.Query{}) {
		if err != nil {
			return facts, err
		}
		facts.Add(e)
	}
	return facts, nil
}

// tapeResult shows a tape as the result of a command; its JSON is that of tape tapes.
func (a *App) tapeResult(ctx context.Context, t *repo.Tape, text string) error {
	if !a.JSON {
		a.PrintUnlessQuiet(text, quoted(t.Name()))
		return nil
	}
	facts, err := a.aboutTape(ctx, t)
	if err != nil {
		return err
	}
	return a.Emit(tapeObject(listedAs(facts, t.Name() == t.Store().CurrentTape())))
}

func listedAs(facts about.Tape, current bool) listedTape {
	return &rows.Tape{Tape: facts, Current: current}
}

func tapeObject(t listedTape) object {
	return append(append(object{{"tape", t.Name}}.With("workspace", t.Workspace), aboutMembers(t.Tape)...), object{
		{"entries", t.Entries}, {"messages", t.Messages}, {"tool_calls", t.ToolCalls}, {"tokens", t.Tokens},
		{"anchors", t.Anchors}, {"last_anchor", t.LastAnchor}, {"current", t.Current}}...).
		With("remotes", objects(t.Remotes, rows.Distance))
}

// aboutMembers are the members of JSON objects that say what a tape is about. All commands use the
// same names. Stars, tags and marks are members of those that have some.
func aboutMembers(t about.Tape) object {
	return object{{"title", orNull(t.Title)}, {"agent", orNull(t.Agent)}, {"agent_version", orNull(t.AgentVersion)}, {"model", orNull(t.Model)},
		{"project", orNull(t.Project)}, {"project_branch", orNull(t.Branch)}, {"authors", t.Authors},
		{"started", dateOrNull(t.Started)}, {"updated", dateOrNull(t.Updated)}}.With("starred", t.Starred).With("tags", t.Tags).With("marks", t.Marks)
}
