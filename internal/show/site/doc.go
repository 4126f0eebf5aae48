// Package site makes a static site of sessions: a list, pages for each session, and Markdown beside them for git
// hosts. It can be opened from a folder, or served below any path: all links are relative. The pages can be read
// without a script; with one, the texts of all sessions can be searched.
//
// The site is a folder of files, on disk or in git. ListFile says which sessions it has; everything else follows
// from it and from the sessions. Files of others in the folder stay, and are never replaced. A session's files are
// written before the list, so after an interruption the list is only out of date, and the next run completes it.
package site
