// Package hints turns the hints of errors into text with the names of commands.
package hints

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tape/internal/store/layout"
)

// Of returns the hints of an error, one per line; "" if it has none.
func Of(err error) string {
	var lines []string
	for _, h := range layout.Hints(err) {
		lines = append(lines, Text(h))
	}
	return strings.Join(lines, "\n")
}

// Text returns a hint as text. Arguments are quoted for the shell.
func Text(h layout.Hint) string {
	text, args := words()[h.Kind], slices.Clone(h.Args)
	switch h.Kind {
	case "":
		return h.Text
	case layout.ListTapes:
		if _, err := strconv.ParseUint(args[0], 10, 64); err == nil { // a number in a list, not a name to create
			args[0] = ""
		}
	case layout.PullThenPush:
		if args[0] == layout.DefaultRemote {
			args[0] = ""
		}
	case layout.PurgeInClone:
		what := slices.Clone(args[3:])
		if what[0] != "" {
			what[0] += " --whole"
		}
		text = strings.Replace(text, "{4}", strings.TrimSpace(strings.Join(what, " --fingerprint ")), 1)
	}
	return fill(text, args)
}

// fill puts arguments into a text. A part of it in brackets is left out if its argument is missing or empty.
func fill(text string, args []string) string {
	for i := range 9 {
		place := fmt.Sprintf("{%d}", i+1)
		at := strings.Index(text, place)
		open, end := strings.LastIndex(text[:max(at, 0)], "["), strings.Index(text[max(at, 0):], "]")
		optional := open >= 0 && end >= 0 && !strings.Contains(text[open:at], "]")
		switch {
		case at < 0:
		case optional && (i >= len(args) || args[i] == ""):
			text = text[:open] + text[at+end+1:]
		case optional:
			text = text[:open] + text[open+1:at+end] + text[at+end+1:]
		}
	}
	var pairs []string
	for i, arg := range args {
		pairs = append(pairs, fmt.Sprintf("{%d}", i+1), layout.ShellWord(arg))
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// words has the text of each kind of hint; {1} is the first argument, and a part in [brackets] needs the one that it has.
func words() map[layout.HintKind]string {
	return map[layout.HintKind]string{
		layout.AbortMerge:         "tape merge --abort undoes the merge",
		layout.AcceptRewritten:    "to accept it as it is, with your own entries after it: tape remote remove, tape remote add, then tape pull",
		layout.AddArtifact:        "add it first: tape append --artifact FILE does, and refers to it",
		layout.AddRemote:          "tape remote add {1} URL names one; tape remote list lists them",
		layout.AddRemoteThere:     "name another folder; in the workspace that is there, tape pull gets what its remote has, and tape remote add adds another remote",
		layout.AllowLongLines:     "tape config max_line BYTES allows longer lines; instead of tape clone, run tape init, that, tape remote add and tape pull",
		layout.AllowMore:          "allow more, or start a new phase with tape handoff",
		layout.BeginAgain:         "tape new {1} begins it again; then it can be pulled or imported",
		layout.BeginMerge:         "tape merge FORK starts one",
		layout.CheckOutAndCommit:  "check that tape out there again, and commit: git -C {1} checkout {2} && tape commit",
		layout.CloneAll:           "clone without --tape; tape tapes then lists them",
		layout.CloseForks:         "first merge or discard its forks[: tape merge {1}, or tape discard {1}]",
		layout.CollectLocks:       "if no git process is running here, run tape gc; if the lock stays, remove that file",
		layout.CopyFingerprint:    "it has 16 hex digits, as tape push shows it",
		layout.DeleteMovedTag:     "if the pull rejects that tag, somebody has moved it there; to delete it there: git -C {1} push --no-verify {2} :{3}",
		layout.DiscardInstead:     "tape discard {1} drops it",
		layout.FetchAgain:         "run tape fetch, and try again",
		layout.FetchAll:           "without --tape all of its tapes are fetched",
		layout.FinishMerge:        "tape merge --continue finishes it, tape merge --abort undoes it",
		layout.ForgetOrShare:      "tape rm {1} --forget forgets it here, too; to share it all the same: git -C {2} push {3} :{4}",
		layout.HandOffInstead:     "use tape handoff, which also commits and tags the phase",
		layout.ImportElsewhere:    "if you have it elsewhere: tape import --again {1} FILE",
		layout.CloneFrom:          "make a workspace of it with: tape clone {1} {2}",
		layout.InitAt:             "create one with: tape init {1}",
		layout.InitHere:           "create one with: tape init; tape tapes -A lists the sessions of all your projects",
		layout.InstallGit:         "install git and try again; all commands except push, pull, fetch, clone, gc and purge work without it",
		layout.ListAll:            "tape forks and tape tapes list what there is",
		layout.ListAllowed:        "tape config allow_secret lists those that are allowed",
		layout.ListAnchors:        "tape anchors lists them",
		layout.ListAnchorsInOrder: "tape anchors lists them in order",
		layout.ListArchives:       "tape archives lists them",
		layout.ListArtifacts:      "tape artifact list lists them",
		layout.ListForks:          "tape forks lists those that are open, tape forks --closed the others",
		layout.ListTapes:          "tape tapes lists them[; tape new {1} creates it]",
		layout.ListTapesAndForks:  "tape tapes and tape forks list them",
		layout.ListTokens:         "tape team token list shows them",
		layout.MergeOneByOne:      "merge one branch after the other; tape merge --abort undoes this merge",
		layout.MergeOrDiscard:     "merge or discard one of them: here tape merge {1}, or tape discard {1}, then pull again",
		layout.NameArchive:        "give more of it; tape archives lists them",
		layout.NameFork:           "name a fork: tape forks lists them",
		layout.NameForkedFrom:     "to fork a fork, name that with --tape",
		layout.NamePhase:          "name a phase (tape anchors lists them), an entry (@17), a tag or a commit",
		layout.NameRevision:       "name an anchor (tape anchors lists them), an entry (@17), a tape or fork, a tag or a commit",
		layout.PullAll:            "pull it, too: without --tape everything is pulled",
		layout.PullInstead:        "tape pull joins what both have; nothing is pushed by force",
		layout.PullOrGoBack: "nothing was changed; tape pull gets what another clone has; if somebody changed the history, go back to what was recorded " +
			"(git reflog shows it), or keep the fork as a tape of its own",
		layout.PullPurge:    "tape pull --purge says what that removes here, and asks",
		layout.PullThenPush: "run tape pull[ {1}], which brings both together, then push again",
		layout.PullThere:    "somebody works in that repository: run tape pull there, or push to a bare one (git init --bare)",
		layout.PurgeInClone: "purge the same in a fresh clone of it: tape clone \"$(git -C {1} remote get-url {2})\" fresh && tape --workspace fresh --tape {3} purge {4} --yes\n" +
			"then run the commands that this prints, and tape pull here",
		layout.PurgeOrAllow: "nothing was sent; if it is a secret, revoke it and remove it with: tape purge --fingerprint {1}[ --tape {2}]; if it is not one: --allow-secret {1}" +
			"[; tapes without secrets can be pushed before that: --tape {3}]",
		layout.PurgeTranscript: "remove it from the transcript; then: tape rm {1}, and tape import {2}",
		layout.PurgeWhole:      "--whole removes all of its text",
		layout.PutAfterTheirs: "to put your entries after theirs (or, with another name in the last line, on a tape of their own):\n" +
			"tape --tape {1} export > {2}\ntape --tape {1} reset --archive\ntape pull --tape {1}\ntape --tape {1} import bub {2}",
		layout.RaiseMaxLine: "add large content as an artifact: tape append --artifact FILE; or raise the limit with: tape config max_line BYTES",
		layout.RebuildTeam:  "tape team sync fills it again from the remotes; tokens stay",
		layout.SecretName: "nothing was sent; the name has it, and names stay: revoke it, and write the session onto a tape of another name:\n" +
			"tape --tape NAME export --with-secrets > session.jsonl\ntape new OTHER\ntape --tape OTHER import bub session.jsonl\ntape rm NAME --forget\nif it is no secret: --allow-secret {1}",
		layout.RenameOrAllow:  "choose another name; or, if it is not a secret: tape config allow_secret {1}",
		layout.RenameTag:      "tags in anchor/ are made by tape handoff, archives by tape reset --archive: give it another name",
		layout.RemoveCopy:     "tape verify --repair takes it away, and keeps what that one lacks as an archive of it",
		layout.RepairTape:     "tape verify --repair sets aside what is damaged, says where, and goes on with everything else",
		layout.ResetInstead:   "tape reset starts a tape over",
		layout.RestoreLatest:  "if it was reset here, restore it with tape --tape {1} restore latest, then run tape pull",
		layout.RevokeToken:    "tape team token revoke {1} makes the name free",
		layout.ShareThere:     "to share tapes there: tape init, tape remote add origin {1}, tape push",
		layout.ShowEntry:      "tape show @ID shows an entry",
		layout.ShowEntryCount: "tape info says how many there are",
		layout.ShowFork:       "tape log --tape {1} shows it; choose another name, or discard it first",
		layout.ShowMerged:     "git -C {1} log --graph --oneline shows what is merged",
		layout.ShowOpenPhase:  "tape anchors lists them; the last one is open",
		layout.ShowRemote:     "tape remote list shows its address; give the new one another name, or remove that one: tape remote remove {1}",
		layout.SwitchAway:     "first make another one current: tape switch NAME; or tape reset --archive starts this one over",
		layout.SwitchTo:       "tape switch {1} makes it the current one",
		layout.SyncTeam:       "tape team sync fills it",
		layout.UndoChange: "entries can only be added: undo the change that git diff HEAD shows, or, if nothing was appended since " +
			"the last commit, all changes of a file: git restore --staged --worktree -- FILE\n" +
			"git commit --no-verify commits it all the same, and tape verify will name it",
		layout.VerifyAll: "tape verify lists everything that is damaged",
	}
}
