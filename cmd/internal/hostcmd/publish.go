package hostcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

// PublishHost is what the command needs of tape-host.
type PublishHost interface {
	Publish(ctx context.Context, o PublishOptions) error
}

// PublishApp is what the command needs of the command line.
type PublishApp struct {
	*stdio.Streams
	Store      *repo.Store
	About      map[string]about.Tape // what tapes are about, by branch
	Build      string                // of this program: another one writes all pages again
	Find       func(ctx context.Context, store *repo.Store, name string) (*repo.Tape, error)
	IsHostTape func(ctx context.Context, store *repo.Store, name string) (bool, error) // whether a tape is one of tape serve
	InProject  func(t about.Tape, project string) bool                                 // whether a tape matches --project
}

// PublishOptions say what to publish, and where.
type PublishOptions struct {
	PublishApp
	Dir    string // a folder
	File   string // or one file, for one session
	Branch string // or a branch
	Push   string // the remote that gets the branch; "": none

	Tapes  []*repo.Tape // to add to the pages
	Named  []string     // those of Tapes that were named: they come back if they were taken out
	Remove []string     // names of sessions to take out
	Allow  []string     // fingerprints of findings that are not secrets
	Refuse bool         // publish nothing if secrets are found, instead of masking them
}

type publishFlags struct {
	PublishOptions
	names, remove  []string
	since, project string
	all, pushed    bool
}

// NewPublish makes the command. run calls its argument in tape-host.
func NewPublish(run func(func(ctx context.Context, host PublishHost, in PublishApp) error) func(*cobra.Command, []string) error) *cobra.Command {
	o := &publishFlags{}
	cmd := &cobra.Command{
		Use:   "publish DIR | -o FILE | --branch BRANCH [--push REMOTE] [--tape NAME]… [--since DATE] [--project DIR] [--all] [--remove NAME]…",
		Short: "Write sessions as web pages, into a folder, a branch or one file",
		Long: `Write pages of the chosen sessions into the folder DIR: a list, pages for each session, and Markdown
files for git hosts. You can open the pages from the folder or serve them below any path. They work
without JavaScript; with it, the list has a search.

When it is run again, it updates the sessions that the pages have, adds those that you choose, and writes
only what has changed. Other files in the folder stay.

With --branch, the pages go to a branch of the workspace's repository, without a working tree. With --push,
the branch is pushed to a remote, and what others have published there stays. With tape config publish
BRANCH, each tape push also publishes the sessions that the remote has.

With -o, one session goes into a single file that needs no other.

Secrets are searched for as by tape push, and masked; with --refuse-secrets, nothing is published if there
are any. --allow-secret FINGERPRINT lets one through, and the workspace remembers that. Each page says what
was left out: events, files, secrets.

--remove takes a session out of the pages. A branch then starts over with a single commit, so that its
history does not have the session either. The session stays out until --tape names it. Anybody who fetched
the branch before still has the session.`,
		Example: `  tape publish site --all
  tape publish site --project shop --since monday
  tape publish -o session.html --tape 2
  tape publish --branch pages --push origin --all
  tape publish --branch pages --push origin --remove 2`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Dir = strings.Join(args, "")
		if err := o.check(); err != nil {
			return err
		}
		return run(func(ctx context.Context, host PublishHost, in PublishApp) error {
			o.PublishApp = in
			if err := o.choose(ctx); err != nil {
				return err
			}
			return host.Publish(ctx, o.PublishOptions)
		})(cmd, args)
	}
	f := cmd.Flags()
	f.StringVarP(&o.File, "output", "o", "", "write one session to the single `FILE`")
	f.StringVar(&o.Branch, "branch", "", "write to the `BRANCH` instead of a folder")
	f.StringVar(&o.Push, "push", "", "push the branch to the `REMOTE`")
	f.StringArrayVar(&o.names, "tape", nil, "publish the session `NAME`; can be repeated")
	f.StringVar(&o.since, "since", "", "publish sessions that changed on `DATE` or later")
	f.StringVar(&o.project, "project", "", "publish sessions of projects in `DIR`, or whose name contains it")
	f.BoolVarP(&o.all, "all", "a", false, "publish all sessions of the workspace")
	f.BoolVar(&o.pushed, "pushed", false, "publish the sessions that the remote of --push has")
	f.StringArrayVar(&o.remove, "remove", nil, "take the session `NAME` out of the pages; can be repeated")
	f.BoolVar(&o.Refuse, "refuse-secrets", false, "publish nothing if secrets are found, instead of masking them")
	f.StringArrayVar(&o.Allow, "allow-secret", nil, "allow the text with this `FINGERPRINT`, now and later; can be repeated")
	return cmd
}

// check refuses flags that do not go together.
func (o *publishFlags) check() error {
	places := 0
	for _, place := range []string{o.Dir, o.File, o.Branch} {
		if place != "" {
			places++
		}
	}
	const hint = "tape publish --help says more"
	switch {
	case places != 1:
		return layout.Invalid(hint, "tape publish writes to a folder, with -o to a file, or with --branch to a branch: give one of them")
	case o.Push != "" && o.Branch == "":
		return layout.Invalid(hint, "--push needs --branch")
	case o.pushed && o.Push == "":
		return layout.Invalid(hint, "--pushed needs --push")
	case len(o.remove) > 0 && o.File != "":
		return layout.Invalid(hint, "--remove is for a folder or a branch")
	}
	return nil
}

// choose finds the tapes that the flags name or describe.
func (o *publishFlags) choose(ctx context.Context) error {
	q, err := filter.Params{Since: o.since}.Query(filter.AsFlag, o.Now())
	if err != nil {
		return err
	}
	for _, name := range o.remove {
		if t, err := o.Find(ctx, o.Store, name); err == nil {
			name = t.Name()
		}
		o.Remove = append(o.Remove, name)
	}
	if o.File != "" && len(o.names) == 0 {
		o.names = []string{o.Store.CurrentTape()}
	}
	for _, name := range o.names {
		t, err := o.Find(ctx, o.Store, name)
		if err != nil {
			return err
		}
		o.Tapes, o.Named = append(o.Tapes, t), append(o.Named, t.Name())
	}
	if !o.all && !o.pushed && o.since == "" && o.project == "" {
		return nil
	}
	for branch, facts := range o.About {
		if !strings.HasPrefix(branch, "tape/") || !catalog.Listed(facts) || !o.InProject(facts, o.project) || facts.Updated.Before(q.Since) {
			continue
		}
		t, err := o.Store.ByBranch(ctx, branch)
		if err != nil {
			return err
		}
		if ok, err := o.mayPublish(ctx, t); err != nil {
			return err
		} else if ok {
			o.Tapes = append(o.Tapes, t)
		}
	}
	return nil
}

// mayPublish reports whether a session may be published: not if it is one of tape serve or, with --pushed, if the
// remote lacks it.
func (o *publishFlags) mayPublish(ctx context.Context, t *repo.Tape) (bool, error) {
	if own, err := o.IsHostTape(ctx, o.Store, t.Name()); own || err != nil || !o.pushed {
		return !own, err
	}
	all, err := t.Distances(ctx)
	return slices.ContainsFunc(all, func(d repo.Distance) bool { return d.Remote == o.Push && d.Shared }), err
}
