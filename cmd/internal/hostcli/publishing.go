package hostcli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/sharing"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/internal/show/site"
	"tape/internal/store/layout"
	"tape/internal/store/pages"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/repo"

	"golang.org/x/sync/errgroup"
)

// published is the result for programs.
type published struct {
	Pages     int `json:"pages"`     // sessions that are published
	Written   int `json:"written"`   // files
	Unchanged int `json:"unchanged"` // sessions
	Masked    int `json:"masked"`    // secrets, in sessions that were written
}

// publisher is one run of tape publish.
type publisher struct {
	hostcmd.PublishOptions
	prose     func(string, int) string // see export.Source
	mask      *sharing.Masker
	out       published
	startOver bool // the branch begins again with one commit
}

// publishSessions publishes. prose renders Markdown, see export.Source.
func publishSessions(ctx context.Context, o hostcmd.PublishOptions, prose func(string, int) string) error {
	inner := (*workspace.Store)(o.Store)
	for _, fingerprint := range o.Allow {
		if err := inner.AllowSecret(fingerprint); err != nil {
			return err
		}
	}
	p := newPublisher(o.Store, prose) // after AllowSecret, which changes what is a secret
	p.PublishOptions = o
	unlock, err := inner.LockPrivate(ctx, "publish.lock")
	if o.Branch == "" && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)) {
		unlock, err = func() error { return nil }, nil // a backup or a snapshot, where nobody can take the lock
	}
	if err != nil {
		return err
	}
	switch {
	case o.File != "":
		err = p.file(ctx)
	case o.Branch != "":
		err = p.branch(ctx)
	default:
		err = p.folder(ctx)
	}
	return errors.Join(err, unlock())
}

// file writes a session into a single file.
func (p *publisher) file(ctx context.Context) error {
	if len(p.Tapes) != 1 {
		return layout.Invalid("name it with --tape", "-o writes one session, not %d", len(p.Tapes))
	}
	if err := p.refuse(ctx, p.Tapes); err != nil {
		return err
	}
	err := stdio.ReplaceFile(nil, p.File, func(w io.Writer) error { return p.page(ctx, stdio.Results{Writer: w}, p.Tapes[0]) })
	if err != nil {
		return err
	}
	p.out = published{Pages: 1, Written: 1, Masked: p.mask.Count()}
	return p.Result(p.out, "wrote %s%s", display.Line(p.File), p.masked())
}

// page writes a session as one page that needs no other file.
func (p *publisher) page(ctx context.Context, w io.Writer, t *repo.Tape) error {
	src, left, err := p.source(ctx, t)
	if err != nil {
		return err
	}
	f, _ := export.Find("html")
	src.Omitted, src.Published = left, true
	return f.Write(ctx, w, src)
}

// writePage writes a tape as one page that needs no other file, with its secrets masked. prose is as for Run.
func writePage(ctx context.Context, w io.Writer, t *repo.Tape, prose func(string, int) string) error {
	return newPublisher(t.Store(), prose).page(ctx, w, t)
}

func newPublisher(store *repo.Store, prose func(string, int) string) *publisher {
	inner := (*workspace.Store)(store)
	return &publisher{prose: prose, mask: sharing.NewMasker(inner)}
}

func (p *publisher) folder(ctx context.Context) error {
	dir, err := openDir(p.Dir)
	if err != nil {
		return err
	}
	defer dir.close()
	target, err := site.Open(dir)
	if err != nil {
		return err
	}
	if err := p.publish(ctx, target); err != nil {
		return err
	}
	return p.report(target, "")
}

func (p *publisher) branch(ctx context.Context) error {
	b, err := pages.Open(ctx, (*workspace.Store)(p.Store), p.Branch, p.Push, p.ProgressWriter())
	if err != nil {
		return err
	}
	defer b.Discard()
	if err := p.ownBranch(b); err != nil {
		return err
	}
	target, err := site.Open(b)
	if err != nil {
		return err
	}
	if b.Local != nil {
		if err := p.takeOver(ctx, b.Local, target); err != nil {
			return err
		}
	}
	if err := p.publish(ctx, target); err != nil {
		return err
	}
	if err := b.Commit(ctx, pages.Describe(len(target.Sessions()), len(p.Remove) > 0), p.startOver); err != nil {
		return err
	}
	to := "branch " + p.Branch
	if p.Push != "" {
		to += ", pushed to " + p.Push
	}
	if p.startOver {
		to += "; its history starts over, without what was removed from the pages"
	}
	return p.report(target, to)
}

// ownBranch refuses a branch that exists without a list of pages.
func (p *publisher) ownBranch(b *pages.Branch) error {
	_, err := b.Size(site.ListFile)
	if err != nil && !b.IsNew() {
		return layout.Conflict("choose a branch that has nothing else", "the branch %q has files that tape publish did not write", p.Branch)
	}
	return nil
}

// takeOver adds to the remote's pages what only the local branch has: sessions, and which ones were taken out.
func (p *publisher) takeOver(ctx context.Context, local site.Folder, target *site.Site) error {
	was, err := site.Open(local)
	if err != nil {
		return nil //nolint:nilerr // it has no pages
	}
	for _, x := range was.Sessions() {
		if t, err := p.Store.Tape(ctx, x.Tape); err == nil && !slices.ContainsFunc(p.Tapes, func(o *repo.Tape) bool { return o.Name() == x.Tape }) {
			p.Tapes = append(p.Tapes, t)
		}
	}
	for _, x := range slices.Clone(target.Sessions()) {
		if was.WasRemoved(x.Tape) && !slices.Contains(p.Named, x.Tape) {
			p.Remove = append(p.Remove, x.Tape)
		}
	}
	return nil
}

// publish takes sessions out of the site, updates those that it has, and adds the chosen ones.
func (p *publisher) publish(ctx context.Context, target *site.Site) error {
	for _, name := range p.Remove {
		was, err := target.Remove(name)
		if err != nil {
			return err
		}
		if !was {
			return layout.NotFound("", "the pages have no session %q", name)
		}
		p.startOver = true
	}
	list, skipped, err := p.chosen(ctx, target)
	if err != nil {
		return err
	}
	if len(list)+len(target.Sessions()) == 0 && len(p.Remove) == 0 && skipped == 0 {
		return layout.Invalid("tape publish --tape NAME, --project DIR, --since DATE or --all", "say which sessions to publish")
	}
	var todo []*repo.Tape
	states := map[string]string{}
	for _, t := range list {
		if states[t.Name()], err = p.state(ctx, t); err != nil {
			return err
		}
		if target.IsComplete(t.Name(), states[t.Name()]) {
			p.out.Unchanged++
			continue
		}
		if x, ok := target.Find(t.Name()); ok && x.Commit != "" {
			rewritten, unknown, err := pages.WasRewritten((*workspace.Tape)(t), x.Commit)
			if err != nil {
				return err
			}
			if rewritten && !unknown {
				if unknown, err = isBehind(ctx, t); err != nil {
					return err
				}
			}
			if unknown && x.Updated.After(p.About[t.Branch()].Updated) {
				p.Warn(fmt.Sprintf("the pages have a newer version of %q, which stays; tape pull brings it here", t.Name()))
				continue
			}
			p.startOver = p.startOver || rewritten
		}
		todo = append(todo, t)
	}
	if err := p.refuse(ctx, todo); err != nil {
		return err
	}
	progress := p.Progress("sessions")
	group, work := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range todo {
		if work.Err() != nil {
			break
		}
		progress.Step(fmt.Sprintf("%d of %s", i+1, display.Count(len(todo), "session", "sessions")))
		group.Go(func() error { return layout.Wrap(p.put(work, target, t, states[t.Name()]), "publish %q", t.Name()) })
	}
	err = group.Wait()
	progress.Clear()
	if err != nil { // what was written until then gets its place in the list
		return errors.Join(err, target.End())
	}
	p.out.Masked = p.mask.Count()
	if skipped > 0 {
		p.StderrUnlessQuiet("%s left out, because tape publish --remove took them out; --tape NAME publishes one again", display.Count(skipped, "session was", "sessions were"))
	}
	if err := target.End(); err != nil {
		return err
	}
	for _, name := range target.Skipped() {
		p.StderrUnlessQuiet("%s was not made by tape publish, and stays", name)
	}
	return nil
}

// isBehind reports whether a remote has entries of a tape that were fetched and not pulled.
func isBehind(ctx context.Context, t *repo.Tape) (bool, error) {
	list, err := t.Distances(ctx)
	return slices.ContainsFunc(list, func(d repo.Distance) bool { return d.Behind > 0 }), err
}

// chosen returns the chosen sessions and those that the site has, sorted by name. skipped counts chosen ones that
// were taken out before.
func (p *publisher) chosen(ctx context.Context, target *site.Site) (list []*repo.Tape, skipped int, err error) {
	for _, t := range p.Tapes {
		switch {
		case slices.Contains(p.Remove, t.Name()):
		case !target.WasRemoved(t.Name()):
			list = append(list, t)
		case slices.Contains(p.Named, t.Name()):
			target.Allow(t.Name())
			list = append(list, t)
		default:
			skipped++
		}
	}
	for _, x := range target.Sessions() {
		t, err := p.Store.Tape(ctx, x.Tape)
		if errors.Is(err, repo.ErrNotFound) {
			continue // published by somebody else, or deleted here: it stays until it is taken out
		}
		if err != nil {
			return nil, 0, err
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *repo.Tape) int { return strings.Compare(a.Name(), b.Name()) })
	return slices.CompactFunc(list, func(a, b *repo.Tape) bool { return a.Name() == b.Name() }), skipped, nil
}

// state returns a digest of all that the pages of a session depend on.
func (p *publisher) state(ctx context.Context, t *repo.Tape) (string, error) {
	inner := (*workspace.Tape)(t)
	head, err := inner.Head()
	if err != nil {
		return "", err
	}
	_, last, err := query.StampOf(inner)
	if err != nil {
		return "", err
	}
	if last == 0 { // there is no journal; without a working tree the commits are all there is
		if _, _, err := inner.Worktree(); err == nil {
			info, err := t.Summary(ctx)
			if err != nil {
				return "", err
			}
			last = info.Entries
		}
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %q", p.Build, head, last, inner.Store().Config().Allowed))
	return hex.EncodeToString(sum[:8]), nil
}

// put writes the pages of a session.
func (p *publisher) put(ctx context.Context, target *site.Site, t *repo.Tape, state string) error {
	src, left, err := p.source(ctx, t)
	if err != nil {
		return err
	}
	facts := p.About[t.Branch()]
	head, err := (*workspace.Tape)(t).Head()
	if err != nil {
		return err
	}
	x := site.Session{Tape: t.Name(), Folder: strings.ReplaceAll((*workspace.Tape)(t).Slug(), "/", "-"), State: state, Commit: head.String(),
		Project: facts.ProjectName(), Agent: importer.All().Title(facts.Agent), Model: facts.Model, Started: facts.Started, Updated: facts.Updated}
	for _, who := range append([]string{snapshot.Owner((*workspace.Tape)(t), head)}, facts.Authors...) {
		name, _, _ := strings.Cut(who, " <") // addresses are not for everybody
		if name != "" && !slices.Contains(x.People, name) {
			x.People = append(x.People, name)
		}
	}
	for _, text := range append(slices.Clone(x.People), x.Tape, x.Project, x.Agent, x.Model) {
		if found := p.mask.Find(text); len(found) > 0 {
			return layout.Conflict("tape rename gives the session another name", "the name of the session or its project contains what looks like a secret (%s)", found[0].Rule)
		}
	}
	return target.Put(ctx, site.Source{Session: x, Entries: src, Omitted: left, Masked: func() int { return p.mask.CountOf(t.Name()) }})
}

func (p *publisher) masked() string {
	if p.out.Masked == 0 {
		return ""
	}
	return "; " + display.Count(p.out.Masked, "secret was", "secrets were") + " masked"
}

func (p *publisher) report(target *site.Site, to string) error {
	p.out.Pages, p.out.Written = len(target.Sessions()), target.Written
	return p.Result(p.out, "%s published to %s: %s written, %s unchanged%s", display.Count(p.out.Pages, "session", "sessions"), cmp.Or(to, display.Line(p.Dir)),
		display.Count(p.out.Written, "file", "files"), display.Count(p.out.Unchanged, "session", "sessions"), p.masked())
}
