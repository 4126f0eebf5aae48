package sharing

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/resume"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/purge"
	"tape/internal/store/remotes"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Forgetting says what to forget.
type Forgetting struct {
	*stdio.Streams
	Store *repo.Store
	Name  string
	Title string // "" if it has none
	Where resume.Where

	Yes         bool // do not ask whether to remove it
	AtRemotes   bool // delete it at the remotes, too
	Transcripts bool // delete the agent's files, too
	DryRun      bool // only say what would go

	Derived func(ctx context.Context) error // as in purge.ForgetOptions
}

// Run asks, removes the session with those of its subagents, and shows what was done.
func (o *Forgetting) Run(ctx context.Context) error {
	session, err := resume.SessionOf(ctx, o.Store, o.Name)
	if err != nil {
		return err
	}
	found, err := resume.Find(ctx, session, o.Where)
	if err != nil {
		return err
	}
	subagents, err := o.subagents(ctx)
	if err != nil {
		return err
	}
	at, err := o.remotes(ctx)
	if err != nil {
		return err
	}
	if o.DryRun {
		return o.would(ctx, found, at, subagents)
	}
	if !o.Yes {
		if err := o.ask(ctx, found.Files, at, len(subagents)); err != nil {
			return err
		}
	}
	steps := o.Progress("")
	defer steps.Clear()
	names, slugs := append(subagents, o.Name), []string(nil) // the session last, so that an interrupted call can be repeated
	var has []string
	for _, name := range names {
		one, own := resume.Session{Tape: name, IDs: []string{name}}, resume.Found{}
		if name == o.Name {
			one, own = session, found
		}
		done, err := purge.Forget(ctx, (*workspace.Store)(o.Store), name, purge.ForgetOptions{Also: one.IDs[1:], Derived: o.Derived, Step: steps.Step})
		if err != nil {
			return err
		}
		if err := resume.Forget(o.Store, one, own, o.Where); err != nil {
			return err
		}
		slugs, has = append(slugs, done.Slugs...), append(has, done.Remotes...)
	}
	var deleted []string
	if o.Transcripts {
		steps.Step("deleting transcripts")
		deleted, found.Files = found.Files, nil
		for _, path := range deleted {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	steps.Clear()
	var gone []string
	for _, remote := range at {
		was, err := o.atRemote(ctx, remote, names, slugs)
		if err != nil {
			return err
		}
		if was {
			gone = append(gone, remote)
		}
	}
	slices.Sort(has)
	still := slices.DeleteFunc(slices.Compact(has), func(remote string) bool { return slices.Contains(at, remote) })
	return o.report(found, deleted, gone, still)
}

// subagents returns the names of the tapes of the session's subagents. A tape of the user's own with such a name is
// not among them.
func (o *Forgetting) subagents(ctx context.Context) (names []string, err error) {
	tapes, err := o.Store.Tapes(ctx)
	for _, t := range tapes {
		if !strings.HasPrefix(t.Name(), o.Name+"/") {
			continue
		}
		if imported, err := importer.HasImported(ctx, t); err != nil {
			return nil, err
		} else if !imported {
			continue
		}
		if names = append(names, t.Name()); t.Name() == o.Store.CurrentTape() { // before anything is removed
			return nil, layout.Conflict("", "the tape of its subagent %q is the current one", t.Name()).Try(layout.SwitchAway)
		}
	}
	return names, err
}

// atRemote deletes the sessions at a remote, and reports whether it had one of them.
func (o *Forgetting) atRemote(ctx context.Context, remote string, names, slugs []string) (had bool, err error) {
	for _, name := range names {
		was, err := remotes.Forget(ctx, (*workspace.Store)(o.Store), remote, name, remotes.ForgetOptions{Progress: o.ProgressWriter(), Slugs: slugs})
		if err != nil {
			return had, layout.Wrap(err, "the session is forgotten here, but was not deleted at %s", remote)
		}
		had = had || was
	}
	return had, nil
}

// remotes returns the names of the remotes at which the session is deleted.
func (o *Forgetting) remotes(ctx context.Context) (names []string, err error) {
	if !o.AtRemotes {
		return nil, nil
	}
	all, err := o.Store.Remotes(ctx)
	for _, r := range all {
		names = append(names, r.Name)
	}
	if err == nil && len(names) == 0 {
		err = layout.Invalid("leave out --remote", "this workspace has no remote")
	}
	return names, err
}

// would says what would be removed, and removes nothing.
func (o *Forgetting) would(ctx context.Context, found resume.Found, at, subagents []string) error {
	var entries int64
	t, err := o.Store.Tape(ctx, o.Name)
	if err != nil {
		return err
	}
	sum, err := t.Summary(ctx)
	if err != nil {
		return err
	}
	entries = sum.Entries
	forks, err := t.Forks(ctx)
	if err != nil {
		return err
	}
	var open []string
	for _, f := range forks {
		open = append(open, f.Name())
	}
	if o.JSON {
		list := func(names []string) []string { return append([]string{}, names...) }
		return o.Emit(stdio.Object{{"tape", o.Name}, {"forgotten", false}, {"entries", entries}, {"forks", list(open)}, {"subagents", list(subagents)},
			{"transcripts", list(found.Files)}, {"programs", list(found.Programs)}, {"remotes", list(at)}, {"delete_transcripts", o.Transcripts}})
	}
	say := func(format string, args ...any) { o.PrintUnlessQuiet(format, args...) }
	say("nothing is removed; without --dry-run, the session %s goes for good, with its %s and its archives", display.Quoted(o.Name), display.Entries(entries))
	for _, name := range open {
		say("  the fork %s goes", display.Quoted(name))
	}
	for _, name := range subagents {
		say("  the session of its subagent %s goes", display.Quoted(name))
	}
	for _, path := range found.Files {
		fate := "stays, and has the text: --transcripts deletes it"
		if o.Transcripts {
			fate = "is deleted"
		}
		say("  %s %s", display.Path(path, o.Where.User.Home), fate)
	}
	for _, program := range found.Programs {
		say("  %s keeps it in its database", program)
	}
	for _, remote := range at {
		say("  at %s it is deleted", display.Line(remote))
	}
	all, err := o.Store.Remotes(ctx)
	if err == nil && len(at) == 0 && len(all) > 0 {
		say("  remotes keep what was pushed: --remote deletes it there")
	}
	return err
}

// ask asks about everything before anything is done.
func (o *Forgetting) ask(ctx context.Context, files, at []string, subagents int) error {
	if !o.CanAsk() {
		return layout.Invalid("tape rm "+display.ShellWord(o.Name)+" --forget --yes does it without asking",
			"rm asks before it forgets a session, and there is no terminal to ask on")
	}
	entries := "what is left of it"
	if t, err := o.Store.Tape(ctx, o.Name); err == nil {
		sum, err := t.Summary(ctx)
		if err != nil {
			return err
		}
		entries = display.Entries(sum.Entries)
	}
	with := "its forks and archives"
	if subagents > 0 {
		with += " and the sessions of " + display.Count(subagents, "subagent", "subagents")
	}
	if err := o.Confirm(ctx, "The session %s (%s) will be removed for good, with %s. Forget it?", display.Quoted(cmp.Or(o.Title, o.Name)), entries, with); err != nil {
		return err
	}
	if len(files) > 0 && !o.Transcripts {
		for _, path := range files {
			o.Tell("  %s", display.Path(path, o.Where.User.Home))
		}
		them := "them"
		if len(files) == 1 {
			them = "it"
		}
		yes, err := o.yes(ctx, "%s the agent's own text of it. Delete %s, too?", display.Count(len(files), "file has", "files have"), them)
		if err != nil {
			return err
		}
		o.Transcripts = yes
	}
	if len(at) > 0 {
		return o.Confirm(ctx, "It will be deleted at %s, and others are asked at their next pull whether to forget it. Delete it there?", strings.Join(at, ", "))
	}
	return nil
}

// yes is Confirm for a question to which no is an answer, and not an error.
func (o *Forgetting) yes(ctx context.Context, format string, args ...any) (bool, error) {
	err := o.Confirm(ctx, format, args...)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return err == nil, nil
}

func (o *Forgetting) report(found resume.Found, deleted, gone, still []string) error {
	if o.JSON {
		list := func(names []string) []string { return append([]string{}, names...) }
		return o.Emit(stdio.Object{{"tape", o.Name}, {"forgotten", true}, {"transcripts", list(found.Files)}, {"deleted", list(deleted)},
			{"remotes", list(gone)}, {"remaining", list(still)}})
	}
	name := display.ShellWord(o.Name)
	o.PrintUnlessQuiet("forgot the session %s; imports and pulls leave it out from now on", display.Quoted(o.Name))
	for _, path := range deleted {
		o.PrintUnlessQuiet("deleted %s", display.Path(path, o.Where.User.Home))
	}
	for _, remote := range gone {
		o.PrintUnlessQuiet("deleted at %s, which may keep the commits until its own git gc", display.Line(remote))
	}
	for _, path := range found.Files {
		o.PrintUnlessQuiet("%s still has the text; to delete it: rm %s", display.Path(path, o.Where.User.Home), display.ShellWord(path))
	}
	for _, program := range found.Programs {
		o.PrintUnlessQuiet("%s still has it in its database: delete the session there", program)
	}
	for _, remote := range still {
		o.PrintUnlessQuiet("%s still has it; to delete it there: tape rm %s --forget --remote", display.Line(remote), name)
	}
	return nil
}

// ForgetAfterPull asks about the sessions that somebody has forgotten at a remote. Without a terminal they stay.
func ForgetAfterPull(ctx context.Context, remote string, with Forgetting) error {
	s := (*workspace.Store)(with.Store)
	names, err := remotes.ForgottenAt(ctx, s, remote)
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := with.Store.Tape(ctx, name); errors.Is(err, repo.ErrNotFound) {
			continue // it went with the session that it belongs to
		}
		o := with
		o.Name, o.Yes = name, true
		if !o.CanAsk() {
			o.Warn(display.Quoted(name) + " was forgotten at " + remote + ", and stays here; tape rm " + display.ShellWord(name) + " --forget forgets it here, too")
			continue
		}
		yes, err := o.yes(ctx, "The session %s was forgotten at %s. Forget it here, too?", display.Quoted(name), display.Line(remote))
		if err != nil {
			return err
		}
		if !yes {
			err = projects.KeepForgotten(ctx, s, name)
		} else {
			err = o.Run(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
