package cli

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/sessions/catalog"
	"tape/repo"
)

type forksOptions struct {
	app         *App
	closed, all bool
}

func newForksCmd(a *App) *cobra.Command {
	o := &forksOptions{app: a}
	cmd := &cobra.Command{
		Use:   "forks [--closed] [--all]",
		Short: "List the forks of the session",
		Long: `List the open forks of the session and their forks: where they begin, how many entries of their
own they have, and when they were last written to.

With --closed, list the forks that were merged, summarized or discarded, the newest first, with
their last commit: tape show COMMIT shows the entries, git log COMMIT the history. Git deletes
discarded forks after a while, like everything that only a reflog keeps.`,
		Example: `  tape forks
  tape --tape main/try-redis forks
  tape forks --closed --all --json`,
		RunE: a.inStore(o.run),
	}
	cmd.Flags().BoolVar(&o.closed, "closed", false, "list those that were merged or discarded")
	cmd.Flags().BoolVarP(&o.all, "all", "a", false, "list the forks of all sessions")
	return cmd
}

func (o *forksOptions) run(ctx context.Context, store *repo.Store, _ []string) error {
	parents, err := o.parents(ctx, store)
	if err != nil {
		return err
	}
	var list []repo.ForkInfo
	for _, t := range parents {
		below := t.IsFork() && (o.all || t != parents[0])
		if o.closed {
			closed, err := t.ClosedForks(ctx)
			if err != nil && below && !isFork(ctx, store, t.Name()) {
				continue // closed meanwhile
			}
			if err == nil {
				list, err = withClosed(ctx, store, list, closed)
			}
			if err != nil {
				return err
			}
		} else if below {
			info, ok, err := o.app.forkInfo(ctx, t)
			if err != nil {
				return err
			}
			if ok {
				list = append(list, info)
			}
		}
	}
	names, err := o.forkNames(ctx, store, list)
	if err != nil {
		return err
	}
	return o.listing(ctx, store, names).Show(&o.app.Streams, list, nil)
}

// forkNames returns the names of forks as a list shows them: on a screen, with short names of their parents.
func (o *forksOptions) forkNames(ctx context.Context, store *repo.Store, list []repo.ForkInfo) (func(repo.ForkInfo) string, error) {
	if o.app.Width() == 0 {
		return func(f repo.ForkInfo) string { return f.Name }, nil
	}
	all, err := catalog.All(ctx, store)
	names := append(catalog.Names(all), namesOf(list, func(f repo.ForkInfo) string { return f.Name })...)
	short := catalog.ShortNames(names)
	return func(f repo.ForkInfo) string { return path.Join(path.Dir(short[f.Name]), path.Base(f.Name)) }, err
}

func (o *forksOptions) listing(ctx context.Context, store *repo.Store, name func(repo.ForkInfo) string) listing[repo.ForkInfo] {
	selected, current := o.app.selectedName(ctx, store), store.CurrentTape()
	out := listing[repo.ForkInfo]{None: quoted(selected) + " has no open forks", Paged: true, Object: describeFork,
		Head: []string{"", "~FORK", ">ENTRIES", "?BASE", "??BEGUN", "UPDATED", "???BRANCH"},
		Row: func(f repo.ForkInfo, add func(cells ...any)) {
			add(rows.CurrentMark(f.Name == current), name(f), f.Entries, baseText(f.Base), o.app.ago(f.Base.Date), o.app.ago(f.Updated), f.Branch)
		}}
	if o.closed {
		out.None = "no fork of " + quoted(selected) + " was closed yet"
		out.Head = []string{"~FORK", "STATUS", ">ENTRIES", "?BASE", "CLOSED", "??COMMIT", "???INTO"}
		out.Row = func(f repo.ForkInfo, add func(cells ...any)) {
			add(name(f), f.Status, f.Entries, baseText(f.Base), o.app.ago(f.Updated), shortID(f.Commit), shortID(f.Into))
		}
	}
	switch {
	case o.all && o.closed:
		out.None = "no fork was closed yet"
	case o.all:
		out.None = "there are no open forks"
	}
	return out
}

func describeFork(f repo.ForkInfo) object {
	return object{{"fork", f.Fork}, {"name", f.Name}, {"tape", f.Parent}, {"branch", f.Branch}, {"path", orNull(f.Dir)}, {"base", f.Base.Entry},
		{"base_anchor", f.Base.Anchor}, {"entries", f.Entries}, {"commit", f.Commit}, {"created", f.Base.Date}, {"updated", f.Updated},
		{"status", f.Status}, {"into", orNull(f.Into)}}
}

// parents lists the tapes whose forks are wanted: the selected tape and all open forks below it, even
// those of closed forks; with --all, all tapes and forks. Parents come before their forks.
func (o *forksOptions) parents(ctx context.Context, store *repo.Store) (list []*repo.Tape, err error) {
	if o.all {
		list, err = catalog.All(ctx, store)
	} else {
		t, err := o.app.openTape(ctx)
		if err != nil {
			return nil, err
		}
		forks, err := store.Forks(ctx)
		if err != nil {
			return nil, err
		}
		below := slices.DeleteFunc(forks, func(f *repo.Tape) bool { return !strings.HasPrefix(f.Name(), t.Name()+"/") })
		list = append(list, append(below, t)...)
	}
	slices.SortStableFunc(list, func(a, b *repo.Tape) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// withClosed adds closed forks, and their own closed forks.
func withClosed(ctx context.Context, store *repo.Store, list, closed []repo.ForkInfo) ([]repo.ForkInfo, error) {
	for _, f := range closed {
		inside, err := store.ForksOfClosed(ctx, f)
		if err != nil {
			return nil, err
		}
		if list, err = withClosed(ctx, store, append(list, f), inside); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// forkInfo describes an open fork. ok is false if the fork was closed meanwhile, or if it is damaged, which
// is reported as a warning.
func (a *App) forkInfo(ctx context.Context, f *repo.Tape) (info repo.ForkInfo, ok bool, err error) {
	info, err = f.ForkInfo(ctx)
	if err == nil || ctx.Err() != nil {
		return info, err == nil, err
	}
	if isFork(ctx, f.Store(), f.Name()) {
		a.Warn(err.Error()) // else it was closed meanwhile
	}
	return info, false, nil
}
