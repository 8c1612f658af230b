import shutil, tempfile
import millrace.runtime.state.disk.state as disk_state
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize
from millrace.runtime.state.disk.place import Place
from millrace.runtime.state.disk.state import DiskState
from millrace.runtime.state.working import MemoryState
from tests.runtime.state.backend_suite import BackendMachine
class Heap(BackendMachine):
    def new_state(self): return MemoryState()
class Disk(BackendMachine):
    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
    def new_state(self): return DiskState(Place(self.folder), dict)
    def lose_disk(self): shutil.rmtree(self.folder, ignore_errors=True)
    @initialize(entries=st.sampled_from([0,5,1000]))
    def set_limit(self, entries): disk_state.FLUSH_ENTRIES=entries
    def teardown(self):
        super().teardown()
        shutil.rmtree(self.folder, ignore_errors=True)
TestHeap=Heap.TestCase
TestDisk=Disk.TestCase
TestDisk.settings=settings(max_examples=1500)
