// Package githooks installs and runs git's hooks in a workspace. Before a commit or a push
// they refuse changes that are not append-only; after a commit, merge, checkout or rewrite they
// complete merges and update the index. On a server they check what is pushed.
//
// [Install] writes one small script for each of git's hooks. A script calls the program
// (tape hook NAME), and refuses on exit code 4 only. Any other failure, or a missing
// program, lets git go on. A user's own hook of the same name is kept: it gets another name
// and is called first, with the same arguments and standard input, and it may refuse, too.
// [Uninstall] gives it its name back.
//
// The other half of the package runs when a script calls the program: [Locate] finds the repository from
// what git passes to its hooks, [Repository.PreCommit], [Repository.PrePush] and
// [PreReceive] decide, [Start] updates the index in a process of its own.
//
// The hooks are the first of two checks. A change that gets past them (git commit --no-verify, a
// repository without hooks, a host's merge button) is found by tape verify, and is
// completed or refused by the next command that meets it.
package githooks
