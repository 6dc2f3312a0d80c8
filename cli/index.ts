import ApiserverJoin from './commands/apiserver/join.ts';
import ApiserverToken from './commands/apiserver/token.ts';
import Apiserver from './commands/apiserver.ts';
import Apply from './commands/apply.ts';
import Backup from './commands/backup.ts';
import Check from './commands/check.ts';
import Controllers from './commands/controllers.ts';
import Cordon from './commands/cordon.ts';
import Delete from './commands/delete.ts';
import Describe from './commands/describe.ts';
import Drain from './commands/drain.ts';
import DrainStatus from './commands/drain-status.ts';
import Exec from './commands/exec.ts';
import ExplainPlacement from './commands/explain-placement.ts';
import Get from './commands/get.ts';
import HostForget from './commands/host/forget.ts';
import HostRemoveOrphan from './commands/host/remove-orphan.ts';
import HostToken from './commands/host/token.ts';
import HostTrustStore from './commands/host/trust-store.ts';
import ImagesBuild from './commands/images/build.ts';
import Kubeconfig from './commands/kubeconfig.ts';
import LeaseCreate from './commands/lease/create.ts';
import LeaseGet from './commands/lease/get.ts';
import LeaseIdle from './commands/lease/idle.ts';
import LeaseList from './commands/lease/list.ts';
import LeaseRelease from './commands/lease/release.ts';
import Logs from './commands/logs.ts';
import MigrateStore from './commands/migrate-store.ts';
import Nodelet from './commands/nodelet.ts';
import PkiRotate from './commands/pki/rotate.ts';
import PkiShow from './commands/pki/show.ts';
import Plan from './commands/plan.ts';
import PoolCreate from './commands/pool/create.ts';
import PoolDelete from './commands/pool/delete.ts';
import PoolList from './commands/pool/list.ts';
import PoolScale from './commands/pool/scale.ts';
import Rebalance from './commands/rebalance.ts';
import Restore from './commands/restore.ts';
import Scale from './commands/scale.ts';
import Scrub from './commands/scrub.ts';
import Status from './commands/status.ts';
import TenantCreate from './commands/tenant/create.ts';
import TenantDelete from './commands/tenant/delete.ts';
import TenantDisable from './commands/tenant/disable.ts';
import TenantEnable from './commands/tenant/enable.ts';
import TenantGet from './commands/tenant/get.ts';
import TenantKubeconfig from './commands/tenant/kubeconfig.ts';
import TenantList from './commands/tenant/list.ts';
import TenantToken from './commands/tenant/token.ts';
import Uncordon from './commands/uncordon.ts';
import Up from './commands/up.ts';
import Version from './commands/version.ts';
import VolumeCreate from './commands/volume/create.ts';
import VolumeDelete from './commands/volume/delete.ts';
import VolumeList from './commands/volume/list.ts';
import VolumeResize from './commands/volume/resize.ts';
import Volumes from './commands/volumes.ts';
import Wait from './commands/wait.ts';

/** Every command there is. The modules hold flags only; what they do is imported when they run. */
export const COMMANDS = {
  apiserver: Apiserver,
  'apiserver:join': ApiserverJoin,
  'apiserver:token': ApiserverToken,
  apply: Apply,
  backup: Backup,
  check: Check,
  controllers: Controllers,
  cordon: Cordon,
  delete: Delete,
  describe: Describe,
  drain: Drain,
  'drain-status': DrainStatus,
  exec: Exec,
  'explain-placement': ExplainPlacement,
  get: Get,
  'host:forget': HostForget,
  'host:remove-orphan': HostRemoveOrphan,
  'host:token': HostToken,
  'host:trust-store': HostTrustStore,
  'images:build': ImagesBuild,
  kubeconfig: Kubeconfig,
  'lease:create': LeaseCreate,
  'lease:get': LeaseGet,
  'lease:idle': LeaseIdle,
  'lease:list': LeaseList,
  'lease:release': LeaseRelease,
  logs: Logs,
  'migrate-store': MigrateStore,
  nodelet: Nodelet,
  'pki:rotate': PkiRotate,
  'pki:show': PkiShow,
  plan: Plan,
  'pool:create': PoolCreate,
  'pool:delete': PoolDelete,
  'pool:list': PoolList,
  'pool:scale': PoolScale,
  rebalance: Rebalance,
  restore: Restore,
  scale: Scale,
  scrub: Scrub,
  status: Status,
  'tenant:create': TenantCreate,
  'tenant:delete': TenantDelete,
  'tenant:disable': TenantDisable,
  'tenant:enable': TenantEnable,
  'tenant:get': TenantGet,
  'tenant:kubeconfig': TenantKubeconfig,
  'tenant:list': TenantList,
  'tenant:token': TenantToken,
  uncordon: Uncordon,
  up: Up,
  version: Version,
  'volume:create': VolumeCreate,
  'volume:delete': VolumeDelete,
  'volume:list': VolumeList,
  'volume:resize': VolumeResize,
  volumes: Volumes,
  wait: Wait,
};
