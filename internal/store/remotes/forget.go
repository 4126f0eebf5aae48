package remotes

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
)

// ForgetOptions say what to delete at a remote.
type ForgetOptions struct {
	Progress io.Writer // as in PushOptions
	Slugs    []string  // of the tape's forks, as far as they are known
}

// Forget deletes a tape at a remote, with its forks, tags and archives, and leaves a note there that it was
// forgotten, so that the next pulls of others ask about it. All of it happens, or nothing; only after a
// kill, the HEAD of a remote that is a path may have left the tape's branch. It reports whether anything
// changed at the remote.
//
// Errors: ErrConflict if the remote refuses; those of a push.
func Forget(ctx context.Context, s *workspace.Store, remote, name string, o ForgetOptions) (done bool, err error) {
	if err := checkRemote(s, remote); err != nil {
		return false, err
	}
	to := transport.Options{Progress: o.Progress, NoHook: true}
	there, err := transport.FindTarget(ctx, s.Git(), remote, append(layout.SharedPrefixes(), layout.ForgottenPrefix), to)
	if err != nil {
		return false, err
	}
	var group []transport.PushRef
	for _, ref := range refsOf(there.Refs, append(o.Slugs, layout.TapeSlug(name)), name) {
		group = append(group, transport.PushRef{Name: ref.Name, Old: ref.Hash})
	}
	mark, err := putMark(ctx, s)
	if err != nil {
		return false, err
	}
	note := layout.ForgottenPrefix + layout.ForgottenID(layout.TapeSlug(name))
	if !slices.ContainsFunc(there.Refs, func(ref gitstore.Ref) bool { return ref.Name == note }) {
		group = append(group, transport.PushRef{Name: note, New: mark})
	}
	if len(group) == 0 {
		return false, nil
	}
	branch, next := s.Handle(name).Ref(), "refs/heads/main"
	for _, ref := range there.Refs {
		if strings.HasPrefix(ref.Name, layout.BranchPrefix) && ref.Name != branch {
			next = ref.Name
			break
		}
	}
	back, err := transport.LeaveHead(ctx, s.Git(), remote, branch, next)
	if err != nil {
		return false, err
	}
	defer func() { err = cmp.Or(err, back()) }()
	results, err := transport.Push(ctx, s.Git(), remote, [][]transport.PushRef{group}, to)
	if err != nil {
		return false, err
	}
	if reason := refusal(results[0]); reason != "" {
		hint := "delete it there by hand, or ask its administrator"
		if strings.Contains(reason, "current branch") {
			hint = "let its HEAD (the default branch) name another branch, then forget the tape again"
		}
		return false, layout.Conflict(hint, "%s refused to delete %q: %s", remote, name, reason)
	}
	return true, nil
}

// refsOf returns the refs of a tape and its forks at a remote. slugs are the known ones; it finds forks of
// forks by their names, which begin with the parent's name.
func refsOf(refs []gitstore.Ref, slugs []string, name string) (out []gitstore.Ref) {
	names := map[string]string{layout.TapeSlug(name): name} // by slug, where it is known
	known := map[string]bool{}
	for _, slug := range slugs {
		known[slug] = true
	}
	for more := true; more; {
		more = false
		for _, ref := range refs {
			rest, ok := strings.CutPrefix(ref.Name, layout.ForkPrefix)
			slug, fork, _ := strings.Cut(rest, "/")
			if !ok || names[slug] == "" || layout.TapeSlug(fork) != fork {
				continue // the name of such a fork is not in its branch
			}
			if full := names[slug] + "/" + fork; !known[layout.TapeSlug(full)] || names[layout.TapeSlug(full)] == "" {
				known[layout.TapeSlug(full)], names[layout.TapeSlug(full)], more = true, full, true
			}
		}
	}
	for _, ref := range refs {
		prefix, rest := layout.CutRef(ref.Name)
		slug, _, _ := strings.Cut(rest, "/")
		if prefix == layout.BranchPrefix && rest == layout.TapeSlug(name) || prefix != "" && prefix != layout.BranchPrefix && known[slug] {
			out = append(out, ref)
		}
	}
	return out
}

// forgottenRefs returns patterns of refs that a fetch leaves out, because their tapes were forgotten here. A
// named tape that was forgotten is an ErrConflict.
func forgottenRefs(ctx context.Context, s *workspace.Store, remote string, named []string, o transport.Options) ([]string, error) {
	here, err := projects.ReadForgotten(s)
	if err != nil || !here.Any() {
		return nil, err
	}
	for _, name := range named {
		if here.Has(name) {
			return nil, layout.Conflict("", "the session %q was forgotten here", name).Try(layout.BeginAgain, name)
		}
	}
	there, _, err := transport.LsRemote(ctx, s.Git(), remote, layout.SharedPrefixes(), o)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ref := range there {
		prefix, rest := layout.CutRef(ref.Name)
		slug, inner, _ := strings.Cut(rest, "/")
		pattern := prefix + slug
		if inner != "" {
			pattern += "/*"
		}
		if here.HasSlug(slug) && !slices.Contains(out, pattern) {
			out = append(out, pattern)
		}
	}
	return out, nil
}

// acceptForgotten accepts a note that a tape was forgotten, and drops a malformed one.
func (a *acceptance) acceptForgotten(ref string) {
	mark, _ := layout.ForgottenMark()
	switch next := a.fetched[ref]; {
	case next != mark || !layout.IsForgottenRef(ref):
		a.drop(layout.Incoming{Ref: ref, New: next})
	case a.accepted[ref] != next:
		a.set(ref, a.accepted[ref], next)
	}
}

// putMark stores the commit that every note of a forgotten tape points to.
func putMark(ctx context.Context, s *workspace.Store) (gitstore.Hash, error) {
	batch := s.Git().NewBatch()
	defer batch.Discard()
	batch.Put(gitstore.KindTree, nil)
	_, commit := layout.ForgottenMark()
	h := batch.Put(gitstore.KindCommit, commit)
	return h, batch.Flush(ctx)
}

// ForgottenAt returns the names of tapes here that were forgotten at a remote, as it was last fetched. It
// leaves out tapes that were forgotten or kept on purpose here.
func ForgottenAt(ctx context.Context, s *workspace.Store, remote string) ([]string, error) {
	marks, err := s.Git().Refs(layout.AcceptedRefs(remote) + layout.InnerRef(layout.ForgottenPrefix))
	if err != nil || len(marks) == 0 {
		return nil, layout.Classify(err)
	}
	here, err := projects.ReadForgotten(s)
	if err != nil {
		return nil, err
	}
	all, err := s.Tapes(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all {
		id := layout.ForgottenID(t.Slug())
		if !here.HasID(id) && slices.ContainsFunc(marks, func(ref gitstore.Ref) bool { return strings.HasSuffix(ref.Name, "/"+id) }) {
			names = append(names, t.Name())
		}
	}
	return names, nil
}
