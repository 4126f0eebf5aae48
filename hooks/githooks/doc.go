// Package githooks is what git calls while somebody works in a workspace with plain git:
// before a commit and before a push, to refuse what would not be append-only, and after
// a commit, merge, checkout or rewrite, so that the tapes and their index are looked
// after. On a server it is what a push has to pass.
//
// [Install] writes one small script for each of git's hooks. A script calls the program
// (tape hook NAME) and knows one thing only: that exit code 4 refuses. Any other failure,
// and a program that is not there, lets git go on. Who has a hook of that name already
// keeps it: it gets another name and is called first, with the same arguments and the
// same standard input, and what it refuses is refused. [Uninstall] puts it back.
//
// The other half is what the program does when it is called: [Locate] finds the
// repository in the way that git tells it to its hooks, [Repository.PreCommit],
// [Repository.PrePush] and [PreReceive] judge, [Start] leaves work to a process of its
// own.
//
// The hooks are one of two nets. What gets past them (git commit --no-verify, a
// repository without them, a host's merge button) is found by tape verify, and is
// understood or refused at the next contact.
package githooks
