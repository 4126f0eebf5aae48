package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// fsck lets git check its own structures, if git is installed. While somebody commits, git fsck may
// report objects that it did not see when it listed them, so only what two runs report counts.
func (v *verifier) fsck(ctx context.Context) error {
	if err := v.s.Git().Config().Damage(); err != nil {
		v.problem("", &layout.CorruptError{File: v.s.Git().Config().Path(), Msg: err.Error(), Fix: "tape verify --repair makes git's configuration again, with the lines that can be read"})
		return nil
	}
	complaints, err := v.runFsck(ctx)
	var refused *gitstore.UnsupportedError
	switch {
	case errors.Is(err, gitrun.ErrNoGit):
		return nil
	case errors.As(err, &refused):
		v.s.Warn(fmt.Sprintf("git fsck was left out: %v; %s", err, refused.Hint))
		return nil
	case err != nil:
		return err
	}
	v.report.GitFsck = true
	if len(complaints) == 0 {
		return nil
	}
	if strings.Contains(complaints[0], "unknown repository extension") {
		v.report.GitFsck = false
		v.s.Warn("git fsck was left out: the installed git is older than the repository's extensions (" + strings.Join(complaints[1:], ", ") + ")")
		return nil
	}
	if gitrun.SaysSettings(strings.Join(complaints, "\n")) { // the user's: what is damaged in the repository's was found before
		v.report.GitFsck = false
		v.s.Warn("git fsck was left out: git cannot read your settings (" + strings.Join(complaints, ", ") + ")")
		return nil
	}
	again, err := v.runFsck(ctx)
	fix := layout.FromCopy
	if file := v.damagedIndex(); file != "" { // git fsck complains about a damaged index, and may stop there
		fix = "tape verify --repair makes git's index " + file + " again, which is damaged"
	}
	for _, line := range complaints {
		if strings.Contains(line, "alternate object path") { // without those objects, little can be repaired
			fix = "bring back the folder that the file .git/objects/info/alternates names, or write its new place into that file"
		}
		if slices.Contains(again, line) {
			v.problem("", &layout.CorruptError{File: "git fsck", Msg: line, Fix: fix})
		}
	}
	return err
}

// damagedIndex returns the path of a worktree's index that cannot be read, "" if there is none.
func (v *verifier) damagedIndex() string {
	all, err := v.s.Git().Worktrees()
	if err != nil {
		return ""
	}
	for _, wt := range all {
		if _, err := gitindex.Read(wt); errors.Is(err, gitindex.ErrUnreadable) {
			return wt.IndexPath()
		}
	}
	return ""
}

// runFsck returns the complaints of git fsck.
func (v *verifier) runFsck(ctx context.Context) (complaints []string, err error) {
	if err := gitrun.CheckGit(); err != nil {
		return nil, err
	}
	cmd, err := gitrun.Fsck(ctx, v.s.Git())
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	runErr := cmd.Run()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if runErr == nil {
		return nil, nil
	}
	for line := range strings.Lines(string(out.Next(1 << 20))) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "notice:") {
			continue
		}
		complaints = append(complaints, line)
	}
	if len(complaints) == 0 {
		complaints = append(complaints, runErr.Error())
	}
	return complaints, nil
}
