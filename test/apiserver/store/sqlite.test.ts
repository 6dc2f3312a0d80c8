import { describeStore } from './contract.ts';
import { StoreHome } from './store-home.ts';

describeStore({
  name: 'sqlite',
  histories: 8,
  stages: true,
  reopens: true,
  async open(options) {
    const home = await StoreHome.make();
    return {
      store: await home.open(options),
      async reopen() {
        await home.close();
        return home.open();
      },
      [Symbol.asyncDispose]: () => home[Symbol.asyncDispose](),
    };
  },
});
