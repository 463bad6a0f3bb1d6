// Outputs are whole or absent: after errors, destructors and signals alike.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "oracle/input/atomic_file.h"
#include "tests/input_files.h"

namespace leafproof::tests {
namespace {

using oracle::AtomicFile;

// Under nohup, and from some shells, these come ignored; an ignored signal stays ignored.
[[maybe_unused]] const auto defaults = [] {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  return 0;
}();

TEST(AtomicFile, CommitsTheWholeFile) {
  const Folder folder;
  AtomicFile file({"write", folder / "out"});
  file.write("first ");
  EXPECT_FALSE(fs::exists(folder / "out")) << "visible before it is whole";
  file.write("second");
  file.commit();
  EXPECT_EQ(bytes_of(folder / "out"), "first second");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
}

TEST(AtomicFile, KeepsTheOldFileUntilThenAndItsPermissions) {
  const Folder folder;
  folder.write("out", "old");
  ASSERT_EQ(::chmod((folder / "out").c_str(), 0640), 0);
  {
    AtomicFile abandoned({"write", folder / "out"});
    abandoned.write("half");
    EXPECT_EQ(folder.names().size(), 2u);
  }
  EXPECT_EQ(bytes_of(folder / "out"), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out"});
  oracle::write_file({"write", folder / "out"}, "new");
  EXPECT_EQ(bytes_of(folder / "out"), "new");
  struct stat status{};
  ASSERT_EQ(::stat((folder / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST(AtomicFile, NewFilesHaveTheUsualPermissions) {
  const Folder folder;
  const mode_t mask = ::umask(022);
  oracle::write_file({"write", folder / "out"}, "x");
  ::umask(mask);
  struct stat status{};
  ASSERT_EQ(::stat((folder / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(AtomicFile, FollowsLinksAndWritesThroughDevices) {
  const Folder folder;
  folder.write("target", "old");
  fs::create_symlink("target", folder / "link");
  oracle::write_file({"write", folder / "link"}, "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(bytes_of(folder / "target"), "new");
  oracle::write_file({"write", "/dev/null"}, "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(AtomicFile, RefusesByName) {
  const Folder folder;
  const std::string here = folder.path().string();
  expect_refusal(ErrorKind::InvalidArgument, {here, "directory"},
                 [&] { AtomicFile({"write", folder.path()}); });
  expect_refusal(ErrorKind::InvalidArgument, {here + "/none/out", "No such file"},
                 [&] { AtomicFile({"write", folder / "none/out"}); });
  expect_refusal(ErrorKind::CapacityExceeded, {"/dev/full", "No space left"},
                 [&] { oracle::write_file({"write", "/dev/full"}, "x"); });
  EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, LeavesWhatAKilledProcessLeft) {
  const Folder folder;
  for (int i = 0; i < 100; ++i) {
    folder.write(".leafproof-" + std::to_string(::getpid()) + "-" + std::to_string(i) + ".tmp",
                 "stale");
  }
  oracle::write_file({"write", folder / "out"}, "whole");
  EXPECT_EQ(bytes_of(folder / "out"), "whole");
  EXPECT_EQ(folder.names().size(), 101u);
}

// A child begins a file and is killed; the parent looks at what it left.
void dies_cleanly(int signal_number) {
  const Folder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile first({"write", folder / "first"}), second({"write", folder / "second"});
    first.write("half of a file");
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(folder.names().size(), 2u);
  ASSERT_EQ(::kill(child, signal_number), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal_number) << status;
  EXPECT_TRUE(folder.names().empty()) << folder.names()[0];
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(AtomicFile, CtrlCLeavesNothing) {
  dies_cleanly(SIGINT);
}
TEST(AtomicFile, TerminationLeavesNothing) {
  dies_cleanly(SIGTERM);
}
TEST(AtomicFile, HangUpLeavesNothing) {
  dies_cleanly(SIGHUP);
}

}  // namespace
}  // namespace leafproof::tests
