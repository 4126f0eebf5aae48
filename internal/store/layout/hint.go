package layout

import (
	"errors"

	"tape/internal/git/gitstore"
)

// Hint says what to do about an error. If that is a command of tape, it is a kind: the program chooses
// the words and quotes the arguments.
type Hint struct {
	Kind HintKind
	Args []string // names, paths and settings for the kind
	Text string   // the words, if there is no kind
}

// HintKind says what to do.
type HintKind string

// The kinds of hints, with their arguments.
const (
	AbortMerge         HintKind = "abort-merge"
	AcceptRewritten    HintKind = "accept-rewritten"
	AddArtifact        HintKind = "add-artifact"
	AddRemote          HintKind = "add-remote" // remote
	AddRemoteThere     HintKind = "add-remote-there"
	AllowLongLines     HintKind = "allow-long-lines"
	AllowMore          HintKind = "allow-more"
	BeginAgain         HintKind = "begin-again" // tape
	BeginMerge         HintKind = "begin-merge"
	CheckOutAndCommit  HintKind = "check-out-and-commit" // folder, branch
	CloneAll           HintKind = "clone-all"
	CloneFrom          HintKind = "clone-from"  // folder of the repository, folder to make
	CloseForks         HintKind = "close-forks" // a fork to name, or none
	CollectLocks       HintKind = "collect-locks"
	CopyFingerprint    HintKind = "copy-fingerprint"
	DeleteMovedTag     HintKind = "delete-moved-tag" // folder of the workspace, remote, tag
	DiscardInstead     HintKind = "discard-instead"  // fork
	FetchAgain         HintKind = "fetch-again"
	FetchAll           HintKind = "fetch-all"
	FinishMerge        HintKind = "finish-merge"
	ForgetOrShare      HintKind = "forget-or-share" // tape, folder of the workspace, remote, ref
	HandOffInstead     HintKind = "hand-off-instead"
	ImportElsewhere    HintKind = "import-elsewhere" // tape
	InitAt             HintKind = "init-at"          // folder
	InitHere           HintKind = "init-here"
	InstallGit         HintKind = "install-git"
	ListAll            HintKind = "list-all"
	ListAllowed        HintKind = "list-allowed"
	ListAnchors        HintKind = "list-anchors"          // the missing anchor
	ListAnchorsInOrder HintKind = "list-anchors-in-order" // the missing anchor
	ListArchives       HintKind = "list-archives"
	ListArtifacts      HintKind = "list-artifacts"
	ListForks          HintKind = "list-forks" // the missing fork
	ListTapes          HintKind = "list-tapes" // tape
	ListTapesAndForks  HintKind = "list-tapes-and-forks"
	ListTokens         HintKind = "list-tokens"
	MergeOneByOne      HintKind = "merge-one-by-one"
	MergeOrDiscard     HintKind = "merge-or-discard" // fork
	NameArchive        HintKind = "name-archive"
	NameFork           HintKind = "name-fork"
	NameForkedFrom     HintKind = "name-forked-from"
	NamePhase          HintKind = "name-phase"    // what was named
	NameRevision       HintKind = "name-revision" // what was named
	PullAll            HintKind = "pull-all"
	PullInstead        HintKind = "pull-instead"
	PullOrGoBack       HintKind = "pull-or-go-back"
	PullPurge          HintKind = "pull-purge"
	PullThenPush       HintKind = "pull-then-push" // remote
	PullThere          HintKind = "pull-there"
	PurgeInClone       HintKind = "purge-in-clone"   // folder of the workspace, remote, tape, entries to purge whole, fingerprints
	PurgeTranscript    HintKind = "purge-transcript" // tape, transcript
	PurgeOrAllow       HintKind = "purge-or-allow"   // fingerprint, tape or "", tape without secrets or ""
	PurgeWhole         HintKind = "purge-whole"
	PutAfterTheirs     HintKind = "put-after-theirs" // tape, file
	RaiseMaxLine       HintKind = "raise-max-line"
	RebuildTeam        HintKind = "rebuild-team"
	SecretName         HintKind = "secret-name"     // fingerprint
	RenameOrAllow      HintKind = "rename-or-allow" // fingerprint
	RenameTag          HintKind = "rename-tag"
	RemoveCopy         HintKind = "remove-copy"
	RepairTape         HintKind = "repair-tape"
	ResetInstead       HintKind = "reset-instead"
	RestoreLatest      HintKind = "restore-latest" // tape
	RevokeToken        HintKind = "revoke-token"   // token
	ShareThere         HintKind = "share-there"    // URL
	ShowEntry          HintKind = "show-entry"
	ShowEntryCount     HintKind = "show-entry-count"
	ShowFork           HintKind = "show-fork"   // fork
	ShowMerged         HintKind = "show-merged" // folder of the working tree
	ShowOpenPhase      HintKind = "show-open-phase"
	ShowRemote         HintKind = "show-remote" // remote
	SwitchAway         HintKind = "switch-away"
	SwitchTo           HintKind = "switch-to" // tape
	SyncTeam           HintKind = "sync-team"
	UndoChange         HintKind = "undo-change"
	VerifyAll          HintKind = "verify-all"
)

// Words returns a hint in plain words, or none for "".
func Words(text string) []Hint {
	if text == "" {
		return nil
	}
	return []Hint{{Text: text}}
}

// Hints returns what to do about an error.
func Hints(err error) []Hint {
	var h interface{ Hints() []Hint }
	if errors.As(err, &h) {
		return h.Hints()
	}
	if unsupported, ok := errors.AsType[*gitstore.UnsupportedError](err); ok {
		return Words(unsupported.Hint)
	}
	return nil
}
