package hostcmd

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/index"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Search searches the team's sessions. tape is REMOTE/TAPE, or "" for all. others says that there are flags that only
// a workspace can answer.
func (run TeamRun) Search(cmd *cobra.Command, s TeamSearch, tape string, others bool) error {
	if others || s.How != index.Words || s.Context > 0 || s.Count || s.Query.Phase+s.Query.After != "" {
		return layout.Invalid("of the other flags, it takes filters, --remote, --project, -n, --sort, --exact, --no-fold and --searches", "--team searches all sessions of the team for words")
	}
	if s.Tapes = nil; tape != "" {
		s.Tapes = []string{tape}
	}
	return run(func(ctx context.Context, h TeamHost, o TeamOptions) error { return h.TeamSearch(ctx, o, s) })(cmd, nil)
}

// List lists the team's sessions.
func (run TeamRun) List(cmd *cobra.Command, l TeamList) error {
	return run(func(ctx context.Context, h TeamHost, o TeamOptions) error { return h.TeamTapes(ctx, o, l) })(cmd, nil)
}

// Log shows a session of the team.
func (run TeamRun) Log(cmd *cobra.Command, e TeamEntries) error {
	return run(func(ctx context.Context, h TeamHost, o TeamOptions) error { return h.TeamLog(ctx, o, e) })(cmd, nil)
}

// Show shows an entry of the team: REMOTE/TAPE@17.
func (run TeamRun) Show(cmd *cobra.Command, target string, oneline bool) error {
	at := strings.LastIndexByte(target, '@')
	id, err := strconv.ParseInt(target[at+1:], 10, 64)
	if at < 1 || err != nil || id < 1 {
		return layout.Invalid("write REMOTE/TAPE@17", "%q is not an entry of the team", target)
	}
	return run.Log(cmd, TeamEntries{Tape: target[:at], ID: id, Oneline: oneline, Full: true, Events: true})
}

// TeamHas reports whether the team's server may have an entry that is missing here: target has the form REMOTE/TAPE@17,
// and a server is known.
func TeamHas(target string, missing error, getenv func(string) string) bool {
	server, _ := workspace.GlobalSetting("team")
	return errors.Is(missing, repo.ErrNotFound) && strings.Contains(target, "/") && strings.Contains(target, "@") && (server != "" || getenv("TAPE_TEAM") != "")
}
