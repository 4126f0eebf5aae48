"""Writes what dulwich reads in a workspace: judge.py WORKSPACE DIR (see listing.sh)."""

import hashlib
import json
import os
import stat
import sys

from dulwich.objects import Commit, Tag
from dulwich.repo import Repo


def main(workspace, out):
    repo = Repo(workspace)
    lines = [b"HEAD " + repo.refs.follow(b"HEAD")[0][-1]]
    commits, blobs = {}, {}
    for ref in repo.refs.allkeys():
        if ref == b"HEAD":
            continue
        tip = repo[repo.refs[ref]]
        lines.append(b"ref %s %s %s" % (ref, tip.id, tip.type_name))
        while isinstance(tip, Tag):
            kind, target = tip.object
            lines.append(b"tag %s %s %s %s %s" % (tip.id, target, kind.type_name, tip.name, sha(tip.message)))
            lines.append(b"tagger %s %s" % (tip.id, who(tip.tagger, tip.tag_time, tip.tag_timezone)))
            tip = repo[target]
        assert isinstance(tip, Commit), ref
        for step in repo.get_walker(include=[tip.id]):
            commits[step.commit.id] = step.commit
            lines.append(b"reach %s %s" % (ref, step.commit.id))
        if not ref.startswith(b"refs/tags/"):
            path = os.path.join(os.fsencode(out), b"entries", ref)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(entries(repo, tip))
    for c in commits.values():
        lines.append(b" ".join([b"commit", c.id, c.tree] + c.parents))
        lines.append(b"author %s %s" % (c.id, who(c.author, c.author_time, c.author_timezone)))
        lines.append(b"committer %s %s" % (c.id, who(c.committer, c.commit_time, c.commit_timezone)))
        lines.append(b"message %s %s" % (c.id, sha(c.message)))
        for path, mode, blob in files(repo, c.tree):
            lines.append(b"file %s %06o %s %s" % (c.id, mode, blob, path))
            if blob not in blobs:
                data = repo[blob].data
                blobs[blob] = b"blob %s %d %s" % (blob, len(data), sha(data))
    with open(os.path.join(out, "listing"), "wb") as f:
        f.write(b"".join(line + b"\n" for line in lines + list(blobs.values())))


def sha(data):
    return hashlib.sha256(data).hexdigest().encode()


def who(name, time, zone):
    sign = b"-" if zone < 0 else b"+"
    return b"%s %d %s%02d%02d" % (name, time, sign, abs(zone) // 3600, abs(zone) // 60 % 60)


def files(repo, tree, prefix=b""):
    for name, mode, target in repo[tree].iteritems():
        if stat.S_ISDIR(mode):
            yield from files(repo, target, prefix + name + b"/")
        else:
            yield prefix + name, mode, target


def entries(repo, commit):
    """The entries of a tape: its phases by number, and in each the lines of all files by id."""
    phases = {}
    for path, _, blob in files(repo, commit.tree):
        parts = path.split(b"/")
        if parts[0] == b"anchors":
            lines = repo[blob].data.split(b"\n")
            assert lines.pop() == b"", path
            phases.setdefault(int(parts[1].split(b"_")[0]), []).extend(lines)
    out = []
    for number in sorted(phases):
        for line in sorted(phases[number], key=lambda line: json.loads(line)["id"]):
            out.append(b"%d %s\n" % (number, line))
    return b"".join(out)


main(sys.argv[1], sys.argv[2])
